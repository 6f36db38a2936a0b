"""The cover of randomized response: what is kept of it, what is made when asked for, and what a sample of it tells."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpverify.claims.shared import response_pairs
from dpverify.claims.shared.bitsum_pairs import Pairs
from dpverify.claims.shared.response_pairs import cover, sampled, tail_of
from dpverify.planning.account import account
from dpverify.planning.plan import plan
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.datasets.binned import BinnedPairs
from dpverify.privacy_loss.datasets.chord import Members
from dpverify.privacy_loss.datasets.covers import Covers
from dpverify.privacy_loss.datasets.listed_reports import sure_coins
from dpverify.privacy_loss.datasets.report_sums import ReportSums
from dpverify.privacy_loss.losses.pairs import mixed_reports
from protocols.bitsum import RandomizedResponse


def covers(pairs: Pairs) -> Covers:
    assert isinstance(pairs.every, Covers)
    return pairs.every


def composed(pairs: Pairs, instances: int, delta: float) -> float:
    family = FamilyComposition(
        pairs.every, instances, attained=pairs.attained, relative_width=3e-4, reference_delta=delta
    )
    return family.epsilon(delta, quick=True).upper


@pytest.mark.parametrize(("users", "p"), [(900, 0.3), (160, 0.05)])
def test_every_dataset_is_below_every_choice_and_below_a_piece(users: int, p: float) -> None:
    # Of binned members those far from the end are kept by their suprema only.
    found = covers(cover(users, p, 64, 1e-30))
    points = np.array([-0.4, -0.1, 0.0, 0.1, 0.4])
    floor = 1e-13
    for ones in (0, 1, 7, users // 20, users // 5, users // 4 - 9, users // 3, users // 2):
        for pair in mixed_reports(users, ones, p):
            truth = np.array([pair.delta(float(e)).lower for e in points])
            for choice in found.others:
                assert (truth <= np.max([[one.delta(float(e)).upper for e in points] for one in choice], axis=0)).all()
            for choice in found.pieces:
                profiles = [[one.delta(float(e)).upper + floor for e in points] for one in choice]
                assert any((truth <= profile).all() for profile in profiles)


@pytest.mark.long
def test_pieces_are_made_for_those_who_ask() -> None:
    asked: list[Any] = []

    class Watched(Members):
        def pieces(self, cuts: Any) -> Any:
            asked.append(cuts)
            return super().pieces(cuts)

        def towards_end(self, reach: float, foot: float) -> Any:
            asked.append(reach)
            return super().towards_end(reach, foot)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(response_pairs, "Members", Watched)
        found = response_pairs._covered(2000, 0.2, 64, 1e-30, 20, sample=False)
        assert asked == []
        composed(found, 384, 1e-6)
        assert 0 < len(asked) <= 3
        assert len(covers(found).pieces[0]) == len(covers(found).pieces[0]) == 3
        assert len(asked) <= 4


def test_a_sample_tells_where_the_cover_is() -> None:
    for users, p, instances in ((20_000, 0.05, 64), (1000, 0.3, 1)):
        tail = tail_of(users, p, 1e-20)
        assert composed(sampled(users, p, tail), instances, 1e-6) == pytest.approx(
            composed(cover(users, p, response_pairs.MOST_CELLS, tail), instances, 1e-6), rel=1e-4
        )


def test_a_plan_takes_one_proof() -> None:
    for users, budget, instances in ((5_000, ("1", "1e-8"), 64), (1000, ("0.5", "1e-6"), 8)):
        made = cover.cache_info().misses
        row = plan("rr", budget, users=users, instances=instances)
        assert cover.cache_info().misses == made + 1
        assert float(budget[0]) * (1.0 - 1e-4) <= row.guarantee.epsilon <= float(budget[0])


@pytest.mark.parametrize(("epsilon", "delta", "users"), [("2", "1e-6", 100_000), ("0.5", "1e-8", 1000)])
def test_a_plan_for_one_instance_spends_its_budget(epsilon: str, delta: str, users: int) -> None:
    # Few losses make steps, so that a slope leaves more of it than the search allows.
    spent = plan("rr", (epsilon, delta), users=users, instances=1).guarantee.epsilon
    assert float(epsilon) * (1.0 - 3e-4) <= spent <= float(epsilon)


def test_a_later_cell_with_larger_losses_widens_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = ReportSums.blocks

    def first_is_less(self: ReportSums, **options: Any) -> Iterator[BinnedPairs]:
        for number, part in enumerate(blocks(self, **options)):
            yield part if number else replace(part, largest_loss=0.5 * part.largest_loss)

    cells = [(k, 0) for k in range(40)]
    expected = response_pairs._binned_profiles(1000, 0.3, cells, 1e-30, 20)
    monkeypatch.setattr(ReportSums, "blocks", first_is_less)
    found = response_pairs._binned_profiles(1000, 0.3, cells, 1e-30, 20)
    reach = expected.step * (expected.excess.shape[1] // 2)
    assert 0.95 * reach <= found.step * (found.excess.shape[1] // 2)


@pytest.mark.parametrize(("users", "p"), [(100_000, 0.057), (100_000, 0.01), (20_000, 0.2), (2000, 0.3)])
def test_one_pass_over_the_cells_is_enough(monkeypatch: pytest.MonkeyPatch, users: int, p: float) -> None:
    passes: list[object] = []
    blocks = ReportSums.blocks

    def counted(self: ReportSums, **options: Any) -> Iterator[BinnedPairs]:
        passes.append(self)
        return blocks(self, **options)

    monkeypatch.setattr(ReportSums, "blocks", counted)
    half = (users - 1) // 2
    cells = [(k, 0) for k in [*range(20), *np.linspace(20, half, 60).astype(int).tolist()]]
    response_pairs._binned_profiles(users, p, cells, 1e-26, 20)
    assert len(passes) == 1


def test_what_fewer_coins_leave_out_is_missing() -> None:
    tail = 1e-3
    found = response_pairs._binned_profiles(4000, 0.3, [(k, 0) for k in range(20)], tail, 20)
    wide = response_pairs._binned_profiles(4000, 0.3, [(0, 0), (20, 400)], tail, 20)
    assert sure_coins(400, 0.3, tail) > (0, 0.0)
    assert wide.missing >= found.missing + 0.9 * tail


def test_far_members_are_kept_by_their_suprema() -> None:
    rng = np.random.default_rng(4)
    firsts = np.linspace(0.0, 0.495, 100)
    excess = rng.uniform(0.1, 1.0, (100, 9))
    excess[:, [0, -1]] = 0.0
    step, shares = 0.1, np.stack([firsts, firsts + 0.005], axis=1)
    found = response_pairs._others(response_pairs._Profiles(step, excess, 0.0), shares, 0.2)
    grown = np.exp(step * np.arange(-4, 5))
    members = [*(grown * excess[1:, ::-1]), *excess]
    distances = np.append(firsts[1:], 1.0 - shares[:, 1])
    assert len(found._rows) < 75
    for cut, end in ((0.0, 0.2), (0.2, 0.3), (0.3, 1.0)):
        kept = found._rows[(found._distances >= cut) & (found._distances < end)].max(axis=0)
        for member, distance in zip(members, distances, strict=True):
            assert not cut <= distance < end or (member <= kept * (1.0 + 1e-12)).all()


@pytest.mark.long
def test_no_slope_is_followed_where_epsilon_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: object) -> Pairs:
        raise AssertionError("a slope leads nowhere here")

    monkeypatch.setattr("dpverify.claims.bitsum.randomized_response.sampled", never)
    row = plan("rr", ("3", "1e-8"), users=100_000, instances=1)
    assert row.protocol.flip_probability == pytest.approx(1.8426e-4, rel=1e-3)  # type: ignore[attr-defined]


@pytest.mark.long
def test_days_are_listed_once_however_often_all_of_them_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a budget's ledger, which accounts all that was spent at every step."""
    made: list[int] = []
    covered = response_pairs._covered

    def counted(users: int, *parts: Any, **options: Any) -> Any:
        made.append(users)
        return covered(users, *parts, **options)

    monkeypatch.setattr(response_pairs, "_covered", counted)
    monkeypatch.setattr("dpverify.planning.schedules.schedule._MOST_SHARP", 1)
    days = [(RandomizedResponse(150 + k, 0.3), 1) for k in range(4)]
    account(days[:-1], delta=1e-6, relative_width=1e-4)
    assert sorted(made) == [150 + k for k in range(3)]
    account(days, delta=1e-6, relative_width=1e-4)
    assert made[3:] == [153]
