"""Protocols for a sum at one budget: each meets it, none could do with less, the best is next to a curator's."""

import math
from dataclasses import replace
from typing import Any

import pytest

from dpverify import account
from dpverify.claims.registry import mechanism_claims_of
from dpverify.planning.sums.integers import SumPlans, plan_sums
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix

FEWER_BY_A_PER_MILLE = {"mean": 0.998, "p": 0.999, "shape": 0.998}


@pytest.fixture(scope="module")
def rating() -> SumPlans:
    return plan_sums((1, "1e-6"), users=10_000, largest=4)


@pytest.fixture(scope="module")
def counts() -> SumPlans:
    return plan_sums((1, "1e-6"), users=10_000, largest=4, instances=50, protocols=["poisson-sum", "split-and-mix"])


def test_every_plan_meets_the_budget_and_spends_it(rating: SumPlans, counts: SumPlans) -> None:
    for found in (rating, counts):
        for row in found.plans:
            given = {"instances": found.instances, "delta": "1e-6", "relative_width": 1e-5}
            assert row.guarantee.epsilon <= 1.0
            assert account(row.protocol, **given).epsilon.upper <= 1.0
            name = {PoissonSum: "mean", NegativeBinomialSum: "shape", SplitAndMix: "p"}[type(row.protocol)]
            less = replace(row.protocol, **{name: FEWER_BY_A_PER_MILLE[name] * getattr(row.protocol, name)})
            assert account(less, **given).epsilon.upper > 1.0
            claims = mechanism_claims_of(row.protocol)
            assert (row.rmse, row.messages) == (claims.rmse(row.protocol), claims.messages_per_user(row.protocol))


def test_a_rating_and_fifty_counts_are_next_to_a_curators(rating: SumPlans, counts: SumPlans) -> None:
    best, poisson, nb = rating.plans
    assert (best.name, poisson.name, nb.name) == ("split-and-mix", "poisson-sum", "nb-sum")
    assert 5.642 < best.rmse < 5.643
    assert 16.89 < rating.curator < 16.90
    assert 18.35 < poisson.rmse < 18.36
    assert 1.009 < nb.rmse / poisson.rmse < 1.011
    assert (best.messages, best.size) == (6.0, 12.0)
    assert nb.messages < poisson.messages
    split, plain = sorted(counts.plans, key=lambda row: row.name)[::-1]
    assert split.protocol.shape == 16.0
    assert split.rmse < 119.1 < counts.curator < 119.5 < plain.rmse < 119.8


def test_where_a_range_begins_is_public_and_costs_nothing(rating: SumPlans) -> None:
    for smallest, largest in ((1, 5), (-2, 2)):
        found = plan_sums((1, "1e-6"), users=10_000, smallest=smallest, largest=largest, protocols=["poisson-sum"])
        row, plain = found.plans[0], rating.plans[1]
        assert (row.rmse, row.messages, found.curator) == (plain.rmse, plain.messages, rating.curator)
        assert (row.protocol.smallest, row.protocol.levels) == (smallest, 4)
        assert account(row.protocol, delta="1e-6").epsilon == account(plain.protocol, delta="1e-6").epsilon


def test_real_numbers_have_steps_that_hardly_count() -> None:
    asked = {"users": 10_000, "smallest": -0.5, "largest": 1.5, "real": True}
    split, poisson = plan_sums((1, "1e-6"), **asked, protocols=["split-and-mix", "poisson-sum"]).plans
    for row in (split, poisson):
        assert account(row.protocol, delta="1e-6").epsilon.upper <= 1.0
        rounding = float(row.protocol.step) ** 2 * 2500
        assert 0.0095 < rounding / (row.rmse**2 - rounding) < 0.0105
    # Twice sqrt(2) / epsilon, and half a per cent for rounding: next to it no other noise has so little error.
    assert 2 * math.sqrt(2) < split.rmse < 2 * math.sqrt(2) * 1.0055
    assert 16.89 / 2 < plan_sums((1, "1e-6"), **asked, protocols=["split-and-mix"]).curator < 16.9 / 2
    few = plan_sums((1, "1e-6"), **asked, steps=1, protocols=["poisson-sum"]).plans[0]
    assert few.messages < 2
    assert few.rmse > 50 * 2
    with pytest.raises(ValueError, match=r"^steps=3 must be omitted for integers"):
        plan_sums((1, "1e-6"), users=9, largest=2, steps=3)
    with pytest.raises(ValueError, match=r"^largest=2 must be above smallest=2"):
        plan_sums((1, "1e-6"), users=9, smallest=2, largest=2)


def test_a_shuffler_that_draws_the_noise_needs_no_more_of_it(rating: SumPlans, counts: SumPlans) -> None:
    for among in (rating, counts):
        asked = {"users": 10_000, "largest": 4, "instances": among.instances, "protocols": ["augmented-sum"]}
        row = plan_sums((1, "1e-6"), **asked).plans[0]
        split = next(each for each in among.plans if each.name == "split-and-mix")
        assert row.messages == 4.0
        assert row.rmse == pytest.approx(split.rmse, rel=2.5e-3)
        less = replace(row.protocol, p=row.protocol.p * 0.999)
        for protocol, keeps in ((row.protocol, True), (less, False), (replace(row.protocol, margin=40), False)):
            found = account(protocol, instances=among.instances, delta="1e-6", relative_width=1e-5)
            assert (found.epsilon.upper <= 1.0) is keeps


def test_fewer_shares_would_not_do(rating: SumPlans) -> None:
    fewer = replace(rating.plans[0].protocol, shares=5)
    assert account(fewer, epsilon=1).delta.upper > 1e-6


def test_what_cannot_be_is_said() -> None:
    found = plan_sums((1, 0), users=9, largest=2)
    assert not found.plans
    assert set(found.failures.values()) == {
        f"delta=0 cannot be met by {name}: its views are not pure DP."
        for name in ("split-and-mix", "poisson-sum", "nb-sum")
    }
    assert "cannot be met by 'split-and-mix'" not in str(found)
    # A single user has nobody to hide among, but noise that is all hers: one share does.
    assert plan_sums((1, "1e-6"), users=1, largest=2, protocols=["split-and-mix"]).plans[0].messages == 1.0
    assert "delta=1e-300 for instances=1 is too small" in str(plan_sums((1, "1e-300"), users=9, largest=2).failures)
    room = "users=9007199254740991 times largest=1 leave no room"
    assert room in plan_sums((1, "1e-6"), users=2**53 - 1, largest=1).failures["split-and-mix"]
    # Where every error is too small, each protocol has a reason, and none an argument that nobody gave.
    for found in (
        plan_sums(("1e-300", "1e-6"), users=9, largest=2),
        plan_sums((1, "1e-6"), users=9, largest=2, instances=2**60),
        plan_sums(("1e-9", "1e-6"), users=9, largest=10**9),
    ):
        assert len(found.failures) == 3
        assert "max_atoms" not in str(found.failures)
    none = plan_sums((1, 0), users=9, largest=2, protocols=["augmented-sum"])
    assert none.failures == {"augmented-sum": "delta=0 cannot be met by augmented-sum: its views are not pure DP."}
    with pytest.raises(ValueError, match=r"^protocols='rr' must be one of split-and-mix, poisson-sum, nb-sum"):
        plan_sums((1, "1e-6"), users=9, largest=2, protocols=["rr"])


@pytest.mark.parametrize("epsilon", [40, 800])
def test_nearly_no_noise_is_planned_to_the_ends_of_the_floats(epsilon: float) -> None:
    found = plan_sums((epsilon, "1e-6"), users=1, largest=2, protocols=["split-and-mix"]).plans[0]
    assert found.protocol.p == pytest.approx(math.exp(-epsilon / 2), rel=1e-9)


def test_a_large_delta_saves_discrete_laplace_noise() -> None:
    # delta(epsilon) of noise p moved by 2, by hand, for events {y >= 2} and {y >= 1}: at most .01.
    p = plan_sums((1, "0.01"), users=1, largest=2, protocols=["split-and-mix"]).plans[0].protocol.p
    tails = [(1 / (1 + p), p**2 / (1 + p)), (1 - p**2 / (1 + p), p / (1 + p))]
    spent = max(above - math.e * below for above, below in tails)
    assert 0.0099 < spent <= 0.01
    assert p < 0.995 * math.exp(-0.5)


def test_integers_of_a_wide_range_are_rounded_where_that_hardly_errs() -> None:
    told: list[tuple[int, int]] = []
    asked: dict[str, Any] = {"users": 10_000, "largest": 10**6, "protocols": ["poisson-sum", "nb-sum"]}
    found = plan_sums((1, "1e-6"), progress=lambda *at: told.append(at), **asked)
    real = plan_sums((1, "1e-6"), real=True, **asked)
    assert [row.protocol for row in found.plans] == [row.protocol for row in real.plans]
    assert "integers are rounded at random" in str(found)
    assert "integers are rounded at random" not in str(real)
    assert told == [(0, 2), (1, 2)]
    assert all(row.messages < 150 for row in found.plans)
    # Where noise is so small that each step counts they are sent as they are.
    fine = plan_sums((1, "1e-6"), users=10**7, largest=1025, protocols=["poisson-sum"])
    assert fine.plans[0].protocol.steps is None
