"""What is left where users cheat or stay away: against brute force, and of plans that count on a share of the users."""

import functools
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import Budget, CapacityError, Interval, Side
from dpverify.planning import crowds
from dpverify.planning.account import account
from dpverify.planning.crowds import CrowdRow, crowd, crowd_of, epsilon_among
from dpverify.planning.plan import plan
from dpverify.planning.sweeps.comparison import plan_bitsums
from dpverify.planning.sweeps.setting import FailedPlan
from protocols.bitsum import (
    BitsumProtocol,
    CentralDiscreteLaplace,
    CentralGaussian,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.classifier import HighestDensityClassifier
from protocols.histogram import Histogram
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures
from protocols.selection import Selection
from protocols.vector_sum import VectorSum

Law = NDArray[np.float64]
_SIDE = 48
"""Counts per symbol that the brute force lists: what is beyond is counted as lost."""


def _negative_binomial(shape: float, p: float) -> Law:
    z = np.arange(_SIDE)
    log = [math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1) for k in z]
    return np.asarray(np.exp(np.array(log) + shape * math.log1p(-p) + z * math.log(p)))


def _joined(a: Law, b: Law) -> Law:
    """Return the law of the sum of two independent views, within the box that is listed."""
    size = [2 * _SIDE] * a.ndim
    axes = tuple(range(a.ndim))
    both = np.fft.irfftn(np.fft.rfftn(a, size, axes) * np.fft.rfftn(b, size, axes), size, axes)
    return np.asarray(np.maximum(both[(slice(_SIDE),) * a.ndim], 0.0))


def _of_one_user(protocol: BitsumProtocol, bit: int) -> Law:
    """Return the law of what one user sends, as counts of the symbols, from the randomizer's definition."""
    if isinstance(protocol, RandomizedResponse):
        law = np.zeros((_SIDE, _SIDE))
        p = protocol.flip_probability
        law[1, 0], law[0, 1] = (1 - p, p) if bit == 0 else (p, 1 - p)
        return law
    if isinstance(protocol, NegativeBinomial):
        noise = _negative_binomial(protocol.shape / protocol.users, protocol.p)
    elif isinstance(protocol, Poisson):
        mean = protocol.mean / protocol.users
        noise = np.exp([-mean + k * math.log(mean) - math.lgamma(k + 1) for k in range(_SIDE)])
    else:
        assert isinstance(protocol, ThreeNB)
        own = _negative_binomial(protocol.shape / protocol.users, protocol.p)
        flood = np.diag(_negative_binomial(protocol.flood_shape / protocol.users, protocol.flood_p))
        law = _joined(np.outer(own, own), flood)
        return law if bit == 0 else np.concatenate([np.zeros((1, _SIDE)), law[:-1]])
    return np.concatenate([np.zeros(bit), noise[: _SIDE - bit]])


def _forged(protocol: BitsumProtocol) -> list[tuple[int, ...]]:
    """Return what a cheater may send, as counts: nothing, and up to two messages where any number is allowed."""
    symbols = len(protocol.alphabet)
    most = 1 if isinstance(protocol, RandomizedResponse) else 2
    return [counts for counts in itertools.product(range(most + 1), repeat=symbols) if sum(counts) <= most]


def _worst(protocol: BitsumProtocol, honest: int, epsilon: float) -> tuple[float, float]:
    """Return the largest delta over cheaters, what they send, and the others' bits; and what the lists have lost."""
    others = range(1, protocol.users)  # user 0 is under attack
    worst = lost = 0.0
    for cheaters in itertools.combinations(others, protocol.users - honest):
        rest = [user for user in others if user not in cheaters]
        for bits in itertools.product((0, 1), repeat=len(rest)):
            views = []
            for bit in (0, 1):
                laws = [_of_one_user(protocol, value) for value in (bit, *bits)]
                views.append(functools.reduce(_joined, laws))
            lost = max(lost, *(1.0 - view.sum() for view in views))
            for sent in itertools.product(_forged(protocol), repeat=len(cheaters)):
                shift = tuple(np.sum(np.array(sent, dtype=int).reshape(-1, views[0].ndim), axis=0))
                seen = [np.roll(view, shift, axis=tuple(range(view.ndim))) for view in views]
                for one, zero in (seen, seen[::-1]):
                    worst = max(worst, float(np.maximum(one - math.exp(epsilon) * zero, 0.0).sum()))
    return worst, lost


@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(4, 0.3),
        NegativeBinomial(4, 5.0, 0.45),
        Poisson(3, 4.0),
        ThreeNB(3, 0.3, 3.0, 0.4),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_no_subset_of_cheaters_exceeds_the_upper_end(protocol: BitsumProtocol) -> None:
    for honest in range(1, protocol.users + 1):
        for epsilon in (0.3, 1.0):
            found = account(protocol, epsilon=epsilon, honest=honest).delta
            worst, lost = _worst(protocol, honest, epsilon)
            assert lost < 1e-7
            # The sums of the transforms err by some units; what is lost may be infinite loss.
            assert found.lower - 1e-12 <= worst + 4.0 * lost
            assert worst <= found.upper + 1e-12


@pytest.mark.parametrize(
    "protocol",
    [
        RandomizedResponse(100, 0.2),
        NegativeBinomial(100, 40.0, 0.8),
        Poisson(100, 60.0),
        ThreeNB(100, 0.5, 9.0, 0.9, 4.0),
        Pure(100, 0.5, 0.1, 9.0, 0.9, 4.0),
        Histogram(NegativeBinomial(100, 40.0, 0.8, estimate="under"), 3),  # type: ignore[arg-type]
        Selection(NegativeBinomial(100, 40.0, 0.8, estimate="under"), 3),  # type: ignore[arg-type]
        VectorSum(100, 2, 2, 0.3),
        KernelDensityProtocol(Poisson(100, 400.0), GaussianFeatures(3, 1.0).sample(4, np.random.default_rng(1))),
    ],
    ids=lambda protocol: type(protocol).__name__,
)
def test_fewer_honest_users_are_a_smaller_crowd(protocol: object) -> None:
    everyone = account(protocol, delta=1e-6)
    assert account(protocol, delta=1e-6, honest=100).epsilon == everyone.epsilon
    few, more = (account(protocol, delta=1e-6, honest=honest) for honest in (57, 90))
    assert few.epsilon.upper > more.epsilon.upper > everyone.epsilon.upper
    assert few.epsilon.lower >= more.epsilon.lower >= everyone.epsilon.lower
    claims = mechanism_claims_of(protocol)
    nearest = protocol.with_users(57)  # type: ignore[attr-defined]
    assert account(nearest, delta=1e-6).epsilon.upper == pytest.approx(few.epsilon.upper, rel=1e-9)
    assert claims.users(nearest) == 57
    # The whole profile is that of the honest users.
    assert few.epsilons([1e-6])[0].upper == pytest.approx(few.epsilon.upper, rel=1e-2)
    assert (few.to_dict()["users"], few.to_dict()["honest"]) == (100, 57)
    assert "Honest: 57 of 100 users" in str(few)


def test_too_few_are_infinitely_exposed_before_any_law_is_listed() -> None:
    # 3 of 1,000 users: too wide a law for a shape below 1, and often no noise at all.
    for protocol in (ThreeNB(1000, 0.9, 9.0, 0.99), Pure(1000, 0.9, 0.0, 9.0, 0.99)):
        assert account(protocol, delta=1e-6, honest=3).epsilon.lower == math.inf


@pytest.mark.long
def test_any_share_of_wide_geometric_noise_has_an_account() -> None:
    published = ThreeNB(30_000, p=0.98762, flood_shape=68.574, flood_p=0.99988)
    found = [
        account(published, instances=768, delta="1e-6", honest=honest, relative_width=1e-4).epsilon
        for honest in (30_000, 15_000)
    ]
    assert found[0].upper < found[1].lower < found[1].upper < math.inf
    assert all(one.width <= 2e-3 * one.upper for one in found)


def test_both_ends_are_rounded_outwards() -> None:
    protocol, claims = NegativeBinomial(3, 0.1, 0.9), BITSUM_CLAIMS["nb"]
    less, more = claims.among_honest(protocol, 2)
    assert less.shape * 3 <= 0.2 <= more.shape * 3
    assert math.nextafter(less.shape, 1.0) == more.shape
    assert len(claims.among_honest(NegativeBinomial(3, 3.0, 0.9), 2)) == 1


def test_what_is_divided_must_be_more_private_the_more_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(BITSUM_CLAIMS["poisson"]), "more_private_towards", {})
    with pytest.raises(ValueError, match=r"^mean of poisson must be listed in more_private_towards with the limit inf"):
        account(Poisson(3, 7.0), delta=1e-3, honest=2)


def test_a_trusted_curator_and_local_noise_need_no_crowd() -> None:
    for protocol in (CentralGaussian(9, 7.0), CentralDiscreteLaplace(9, 0.8), LocalRandomizedResponse(9, 0.3)):
        assert account(protocol, delta=1e-3, honest=1).epsilon == account(protocol, delta=1e-3).epsilon


def _divergence(p: Law, q: Law, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


@pytest.mark.parametrize("protocol", [Poisson(6, 8.0), NegativeBinomial(6, 9.0, 0.4)], ids=repr)
def test_an_absent_user_takes_her_noise_along(protocol: BitsumProtocol) -> None:
    """See docs/crowds.md: the bound by her own messages, and how absence and replacement bound each other."""
    own = _of_one_user(protocol, 0)
    others = functools.reduce(_joined, [own] * (protocol.users - 1))
    shifted = [np.concatenate([np.zeros(k), others[: _SIDE - k]]) for k in range(_SIDE)]
    assert 1.0 - others.sum() < 1e-7
    for epsilon in (0.2, 0.6):
        absent = []
        for bit in (0, 1):
            present = _joined(_of_one_user(protocol, bit), others)
            for way in (1, -1):
                truth = _divergence(*(present, others)[::way], epsilon)
                shifts = [_divergence(*(shifted[k], others)[::way], epsilon) for k in range(_SIDE)]
                assert truth <= float(np.roll(own, bit) @ shifts) + 1e-12
                absent.append(truth)
        replaced = account(protocol, epsilon=epsilon).delta
        assert max(absent) > replaced.upper
        twice = account(protocol, epsilon=2.0 * epsilon).delta
        assert twice.lower <= (1.0 + math.exp(epsilon)) * max(absent)


def test_what_a_view_tells_of_the_number_of_users() -> None:
    rng = np.random.default_rng(5)
    for participants in (7, 9):
        # Reports are counted, for a curator only the sum; a histogram has one message for each bucket but one.
        assert RandomizedResponse(9, 0.3).sample_view(2, rng, participants=participants).sum() == participants
        bare = NegativeBinomial(participants, 1e-9, 0.1, estimate="under")  # type: ignore[arg-type]
        sent = Histogram(bare, 4).randomize(np.zeros(participants, dtype=np.int64), rng)
        assert sent.symbols.shape[0] == 3 * participants


def test_a_class_may_hold_all_who_cheat() -> None:
    points = np.random.default_rng(2).normal(size=(40, 2))
    model = HighestDensityClassifier(
        instances=3, bitsum=lambda users: Poisson(users, 300.0), label_epsilon=1.0, random_state=3
    ).fit(points, np.arange(40) % 2)
    found = account(model, delta=1e-4, honest=35)
    # Before labels are published a class may have any size: one of all who cheat and of her has the least noise.
    left = [
        account(model.class_protocol(size), delta=1e-4, honest=max(size - 5, 1)).epsilon.upper
        for size in (1, 5, 6, 7, 40)
    ]
    assert max(left) == left[2] > left[0]
    assert found.epsilon.upper == pytest.approx(left[2] + 1.0, rel=1e-3)
    assert found.users == 40
    # A class is never left without the one who is attacked.
    alone = account(model, delta=1e-4, honest=1).epsilon
    assert alone.upper > found.epsilon.upper
    with pytest.raises(ValueError, match=r"^honest=41 must be an integer in \[1, 40\], or a share"):
        account(model, delta=1e-4, honest=41)


def test_impossible_crowds_are_refused() -> None:
    for honest in (0, 5, -1, 1.5):
        with pytest.raises(
            ValueError, match=rf"^honest={honest} must be an integer in \[1, 4\], or a share in \(0, 1\) or 1\.0\.$"
        ):
            account(RandomizedResponse(4, 0.3), delta=1e-3, honest=honest)
    with pytest.raises(ValueError, match=r"^honest=3 must be omitted: labels is private without other users\.$"):
        account(LabelRandomizedResponse(3, 1.0), delta=1e-3, honest=3)
    with pytest.raises(CapacityError, match=r": the share of 2 users is below the smallest float\.$"):
        account(NegativeBinomial(3, 5e-324, 0.5), delta=1e-3, honest=2)
    for fraction in ("0", "1.01", -0.5):
        with pytest.raises(ValueError, match=r"^honest=.* must be an integer in \[1, 10\], or a share"):
            plan("poisson", (1, "1e-6"), users=10, instances=1, honest=fraction)
    with pytest.raises(ValueError, match=r"^honest='0\.09' must be at least 1/10"):
        plan("poisson", (1, "1e-6"), users=10, instances=1, honest="0.09")


@pytest.mark.long
@pytest.mark.parametrize("bitsum", ["rr", "nb", "poisson"])
def test_a_plan_holds_for_the_honest_and_costs_what_they_miss(bitsum: str) -> None:
    users, budget = 200, ("1", "1e-6")
    counted_on = plan(bitsum, budget, users=users, instances=2, honest="0.9")
    assert (counted_on.protocol.users, counted_on.honest) == (users, 180)
    assert plan(bitsum, budget, users=users, instances=2, honest=180) == counted_on
    kept = account(counted_on.protocol, instances=2, delta=1e-6, honest=180).epsilon
    assert kept.upper <= 1.0
    assert kept.lower > 0.99
    assert account(counted_on.protocol, instances=2, delta=1e-6, honest=170).epsilon.lower > 1.0
    # The noise of 180 users is that of a plan for 180, and of 200 users as much more.
    alone = plan(bitsum, budget, users=180, instances=2)
    assert counted_on.bitsum_rmse == pytest.approx(alone.bitsum_rmse / math.sqrt(0.9), rel=1e-9)
    assert counted_on.messages_per_user == pytest.approx(alone.messages_per_user, rel=1e-9)
    assert "as long as 180 of 200 users follow" in str(counted_on)


def test_epsilon_grows_as_the_honest_get_fewer() -> None:
    found = crowd(("1", "1e-6"), users=200, instances=1, bitsums=["rr", "poisson", "local-rr"], fractions=[1, "0.5"])
    rows = [row for row in found.rows if isinstance(row, CrowdRow)]
    assert found.honest == (200, 100)
    for row in rows[:2]:
        ends = [end for end in row.epsilons if end is not None]
        assert ends[0].upper <= 1.0
        assert ends[1].lower > 1.3
    assert rows[2].epsilons[0] == rows[2].epsilons[1]
    assert [row["plan"]["bitsum"] for row in found.to_dict()["rows"]] == ["rr", "poisson", "local-rr"]
    with pytest.raises(ValueError, match=r"^delta=0 must be in \(0, 1\)"):
        crowd((1, 0), users=200, instances=1)


def test_what_has_no_plan_or_no_law_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise CapacityError("too wide")

    monkeypatch.setattr("dpverify.planning.crowds.account", refuses)
    found = crowd(("1e-6", "1e-9"), users=2, instances=1, bitsums=["poisson", "central-gaussian"], fractions=[1, 0.5])
    failed, refused = found.rows
    assert isinstance(failed, FailedPlan)
    assert isinstance(refused, CrowdRow)
    assert (refused.epsilons, refused.errors) == ((None, None), ("too wide.",))


@pytest.mark.long
def test_the_tables_of_the_docs_are_what_is_computed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "crowds.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:5] == "| 3nb"
    ]
    told, _, cap = rows
    asked = ["1", "0.9", "0.5", "0.25"]
    (found,) = crowd((2, "1e-6"), users=30_000, instances=768, bitsums=["3nb"], fractions=asked, malicious=300).plans
    assert [float(told[i]) for i in (1, 2, 3, 5, 6)] == pytest.approx(
        [found.plan.bitsum_rmse, *(end.upper for end in found.epsilons if end is not None)], rel=1e-3
    )
    assert found.attack is not None
    assert found.attack.cap is not None
    assert int(cap[1].replace(",", "")) == found.attack.cap.messages
    assert float(cap[2]) == pytest.approx(found.attack.cap.drawn_again, rel=0.05)
    assert cap[5] == f"{found.attack.capped.lower:,.0f} to {found.attack.capped.upper:,.0f}"


def test_plans_that_are_there_are_accounted_as_they_are() -> None:
    plans = plan_bitsums(("1", "1e-6"), users=100, instances=2, bitsums=["poisson", "local-rr"], methods=["exact"])
    found = crowd_of(plans, fractions=["1", "0.5"])
    again = crowd(("1", "1e-6"), users=100, instances=2, bitsums=["poisson", "local-rr"], fractions=["1", "0.5"])
    assert found == again


def test_the_plan_is_a_bound_for_as_many_as_it_is_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    row, budget, asked = plan("rr", ("1", "1e-4"), users=60, honest=50), Budget("1", "1e-4"), list[Any]()
    found = Interval(0.4, 1.1)
    monkeypatch.setattr(crowds, "account", lambda of, **how: asked.append(how) or SimpleNamespace(epsilon=found))
    estimate = replace(row, guarantee=replace(row.guarantee, side=Side.ESTIMATE))
    for honest, of, upper in ((50, row, row.guarantee.epsilon), (49, row, 1.1), (50, estimate, 1.1)):
        assert epsilon_among(honest, row.protocol, of, budget, instances=3) == Interval(0.4, upper)
        how = asked.pop()
        assert (how["instances"], how["honest"], how["delta"]) == (3, honest, Fraction("1e-4"))
        assert how["threat_model"] is row.guarantee.threat_model
    with pytest.raises(ValueError, match=r"^malicious=61 must be an integer in \[0, 60\]"):
        crowd(budget, users=60, malicious=61)


def test_progress_counts_plans_and_accounts() -> None:
    heard: list[tuple[int, int]] = []
    crowd(
        ("1", "1e-6"), users=100, instances=2, bitsums=["poisson", "local-rr"], fractions=["1"],
        progress=lambda done, total: heard.append((done, total)),
    )  # fmt: skip
    assert heard == [(done, 4) for done in range(1, 5)]
