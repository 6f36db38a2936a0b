"""The claims about the vector sum, against enumeration of all views of tiny instances, and against simulation."""

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from mpmath import fp

from dpverify.changes import Full
from dpverify.claims.vector_sum.privacy import VectorSumClaims
from dpverify.formulas import FormulaRangeError
from dpverify.formulas.protocols import vector_sum as formulas
from dpverify.guarantee import Budget, InfeasibleBudgetError, Interval, Side, ThreatModel
from dpverify.planning.account import account
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.losses.blanket import report_in_view
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from protocols.vector_sum import VectorSum
from tests.refusals import refused

CLAIMS = VectorSumClaims()
Law = dict[tuple[object, ...], float]
USERS, DIMENSION, LEVELS, EPSILON = 50_000, 100, 3, 0.95
"""The defaults of scott2022, section 5."""


def subsets(protocol: VectorSum) -> list[tuple[int, ...]]:
    """All sets of coordinates that a user may sample, equally likely where the blocks have one size."""
    if protocol.stratified:
        return list(itertools.product(*(block.tolist() for block in protocol.blocks)))
    return list(itertools.combinations(range(protocol.dimension), protocol.sampled))


def message_law(protocol: VectorSum, x: Sequence[int]) -> Law:
    """The law of one user's messages, a sorted tuple of (coordinate, value), for an input on the levels."""
    gamma, values = protocol.blanket_probability, range(protocol.levels + 1)
    law: Law = {}
    for chosen in subsets(protocol):
        for reported in itertools.product(values, repeat=len(chosen)):
            mass = 1.0 / len(subsets(protocol))
            for coordinate, value in zip(chosen, reported, strict=True):
                mass *= (1.0 - gamma) * (value == x[coordinate]) + gamma / len(values)
            sent = tuple(sorted(zip(chosen, reported, strict=True)))
            law[sent] = law.get(sent, 0.0) + mass
    return law


def shuffled(laws: Sequence[Law], *, linked: bool = False) -> Law:
    """The law of the multiset of all messages of independent users; `linked` leaves each user's in one message."""
    view: Law = {(): 1.0}
    for law in laws:
        grown: Law = {}
        for (seen, mass), (sent, probability) in itertools.product(view.items(), law.items()):
            key = tuple(sorted((*seen, *([sent] if linked else sent))))  # type: ignore[type-var]
            grown[key] = grown.get(key, 0.0) + mass * probability
        view = grown
    return view


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    return sum(max(mass - math.exp(epsilon) * second.get(view, 0.0), 0.0) for view, mass in first.items())


@functools.cache
def worst(protocol: VectorSum, epsilons: tuple[float, ...]) -> dict[int, list[float]]:
    """The exact divergence over all datasets on the levels, by the number of coordinates where neighbours differ."""
    grid = list(itertools.product(range(protocol.levels + 1), repeat=protocol.dimension))
    laws = {x: message_law(protocol, x) for x in grid}
    found = {differing: [0.0] * len(epsilons) for differing in range(1, protocol.dimension + 1)}
    for others in itertools.combinations_with_replacement(grid, protocol.users - 1):
        views = {x: shuffled([laws[x], *(laws[other] for other in others)]) for x in grid}
        for x, y in itertools.permutations(grid, 2):
            differing = sum(a != b for a, b in zip(x, y, strict=True))
            for i, epsilon in enumerate(epsilons):
                found[differing][i] = max(found[differing][i], hockey_stick(views[x], views[y], epsilon))
    return found


TINY = {
    "one-coordinate": VectorSum(3, 1, 2, 0.5),
    "two-levels": VectorSum(4, 1, 1, 0.4),
    "one-of-two": VectorSum(3, 2, 1, 0.5),
    "one-of-three": VectorSum(2, 3, 1, 0.6),
    "both-of-two": VectorSum(3, 2, 1, 0.5, sampled=2),
    "two-of-three": VectorSum(2, 3, 1, 0.6, sampled=2),
    "two-of-four": VectorSum(2, 4, 1, 0.6, sampled=2),
    "one-of-each-block": VectorSum(2, 4, 1, 0.6, sampled=2, stratified=True),
}
EPSILONS = (0.1, 0.5, 1.2)


@pytest.mark.long
@pytest.mark.parametrize("name", TINY)
def test_interval_holds_the_enumerated_divergence(name: str) -> None:
    protocol = TINY[name]
    found = worst(protocol, EPSILONS)
    for i, epsilon in enumerate(EPSILONS):
        truth = max(values[i] for values in found.values())
        interval = CLAIMS.delta(protocol, epsilon)
        assert interval.lower - 1e-12 <= truth <= interval.upper + 1e-12
        if name not in ("two-of-three", "two-of-four"):
            assert (interval.lower > 0.0) == (truth > 1e-12)


@pytest.mark.parametrize("name", TINY)
def test_the_largest_loss_is_the_enumerated_one(name: str) -> None:
    protocol = TINY[name]
    grid = list(itertools.product(range(protocol.levels + 1), repeat=protocol.dimension))
    laws = {x: message_law(protocol, x) for x in grid}
    truth = 0.0
    for others in itertools.combinations_with_replacement(grid, protocol.users - 1):
        views = {x: shuffled([laws[x], *(laws[other] for other in others)]) for x in grid}
        for x, y in itertools.permutations(grid, 2):
            truth = max(truth, *(math.log(mass / views[y][view]) for view, mass in views[x].items()))
    assert account(protocol, delta=0).epsilon.upper == pytest.approx(truth, rel=1e-12)
    assert account(protocol, delta=0).epsilon.width <= 1e-14
    assert account(protocol, instances=3, delta=0).epsilon.upper == pytest.approx(3.0 * truth, rel=1e-12)
    assert account(protocol, epsilon=truth * (1.0 + 1e-12)).delta.upper == 0.0


@pytest.mark.parametrize("name", TINY)
def test_account_inverts_the_curve_and_adds_up_runs(name: str) -> None:
    protocol = TINY[name]
    found = account(protocol, epsilon=0.5)
    assert found.delta.upper == pytest.approx(CLAIMS.delta(protocol, 0.5).upper, rel=1e-6)
    assert (found.name, found.users, found.parameters["levels"]) == ("vector-sum", protocol.users, protocol.levels)
    back = account(protocol, delta=found.delta.upper).epsilon
    assert back.lower <= 0.5 + 1e-9
    assert back.upper == pytest.approx(0.5, rel=1e-3)
    # Two runs of t reports, or one of twice as many that are as independent.
    two = account(protocol, instances=2, delta=1e-3).epsilon
    one = account(protocol, delta=1e-3).epsilon
    assert one.upper < two.upper <= account(protocol, instances=2, delta=0).epsilon.upper
    if name == "one-coordinate":
        pair = CLAIMS.dominating_pair(protocol)
        assert two.upper <= FamilyComposition([pair], 2).epsilon(1e-3).upper


def test_a_shortage_of_others_is_charged() -> None:
    protocol = VectorSum(4000, 3, 1, 0.3, sampled=2)
    curve = CLAIMS.curve(protocol, Full(1), ThreatModel.COMMUNICATION)
    more = CLAIMS.curve(protocol, Full(1), ThreatModel.COMMUNICATION, reference_delta=1e-20)
    # For one reference what is missing counts for nothing; below it the largest loss alone is left.
    assert curve.epsilon(1e-20).upper == pytest.approx(CLAIMS.pure_epsilon(protocol, ThreatModel.COMMUNICATION).upper)
    assert more.epsilon(1e-20).upper < 0.8 * curve.epsilon(1e-20).upper
    assert "counts as revealed" in account(protocol, delta=1e-6).notes[0]


@pytest.mark.parametrize("name", ["one-of-two", "one-of-three", "both-of-two"])
def test_neighbours_that_differ_everywhere_are_the_worst(name: str) -> None:
    for values in zip(*worst(TINY[name], EPSILONS).values(), strict=True):
        assert list(values) == sorted(values)


def test_a_third_value_attains_the_lower_bound() -> None:
    protocol = VectorSum(3, 2, 2, 0.5)
    hidden = message_law(protocol, (2, 2))
    views = [shuffled([message_law(protocol, x), hidden, hidden]) for x in ((0, 0), (1, 1))]
    pair = report_in_view(2, 2.0 * 0.5 / 3.0, 0.5 + 0.5 / 3.0, 0.5 / 3.0)
    for epsilon in EPSILONS:
        truth = hockey_stick(*views, epsilon)
        assert pair.delta(epsilon).lower - 1e-14 <= truth <= pair.delta(epsilon).upper + 1e-14


# ---------------------------------------------------------------------- calibration, and the published formulas


@pytest.mark.parametrize(("delta", "revealed", "hidden"), [(0.5, 0.005670, 5.72e-5), (1e-6, 0.3536, 0.003679)])
def test_gamma_at_the_defaults_of_the_source(delta: float, revealed: float, hidden: float) -> None:
    made = CLAIMS.least_blanket(USERS, DIMENSION, LEVELS, Budget(EPSILON, delta))
    assert made.blanket_probability == pytest.approx(hidden, rel=2e-3)
    below = VectorSum(USERS, DIMENSION, LEVELS, made.blanket_probability * 0.99)
    assert CLAIMS.delta(below, EPSILON).upper > delta
    assert CLAIMS.delta(VectorSum(USERS, DIMENSION, LEVELS, 0.99 * hidden), EPSILON).lower > delta
    for factor, private in ((0.998, False), (1.002, True)):
        gamma = revealed * factor
        at = VectorSum(USERS, DIMENSION, LEVELS, gamma)
        assert ((1.0 - gamma) * CLAIMS.revealed_delta(at, EPSILON) <= delta) == private


def test_published_gamma_and_its_range() -> None:
    assert float(formulas.gamma_refined(fp, EPSILON, 0.5, DIMENSION, LEVELS, USERS)) == pytest.approx(0.1705, abs=1e-4)
    with refused("gamma", FormulaRangeError):
        CLAIMS.published(USERS, DIMENSION, LEVELS, EPSILON, 1e-6)
    with refused("epsilon=6.0", FormulaRangeError):
        CLAIMS.published(USERS, DIMENSION, LEVELS, 6.0, 0.5)
    with pytest.raises(FormulaRangeError, match=r"^delta=1\.5 must be"):
        CLAIMS.published(USERS, DIMENSION, LEVELS, 0.5, 1.5)


@pytest.mark.parametrize(("users", "epsilon", "delta"), [(10**6, 0.5, 1e-6), (10**5, 0.9, 0.1), (10**6, 3.0, 1e-4)])
@pytest.mark.parametrize("levels", [1, 4])
def test_published_gamma_is_private_where_the_entry_says_so(
    users: int, epsilon: float, delta: float, levels: int
) -> None:
    protocol = CLAIMS.published(users, 1, levels, epsilon, delta)
    # d = 1: no slack from hidden coordinates. The revealed view is the weaker one.
    assert CLAIMS.revealed_delta(protocol, epsilon) <= delta


@pytest.mark.parametrize(("d", "t", "epsilon", "delta"), [(3, 3, 0.5, 0.5), (3, 3, 0.9, 1e-3), (4, 2, 0.9, 0.1)])
def test_theorem_is_private_where_the_entry_says_so(d: int, t: int, epsilon: float, delta: float) -> None:
    protocol = CLAIMS.published(10**6, d, 2, epsilon, delta, sampled=t)
    assert CLAIMS.delta_upper(protocol, epsilon) <= delta


@pytest.mark.long
def test_least_error_reports_every_coordinate() -> None:
    budget = Budget(1.0, 1e-4)
    best = CLAIMS.least_error(6000, 3, budget, sampled=(1, 3))
    single = CLAIMS.least_error(6000, 3, budget, sampled=(1,))
    assert best.sampled == 3
    assert CLAIMS.worst_mse(best) < CLAIMS.worst_mse(single) / 5.0
    assert CLAIMS.delta(best, 1.0).upper <= 1e-4
    finer, coarser = (
        CLAIMS.least_blanket(6000, 3, best.levels + change, budget, sampled=3, stratified=True, centre=0.5)
        for change in (1, -1)
    )
    assert CLAIMS.worst_mse(best) <= min(CLAIMS.worst_mse(finer), CLAIMS.worst_mse(coarser))


def test_guarantee_is_an_upper_bound_and_needs_some_randomness() -> None:
    protocol = VectorSum(500, 3, 2, 0.4, sampled=3)
    guarantee = CLAIMS.guarantee(protocol, 0.8)
    assert guarantee.side is Side.UPPER_BOUND
    assert CLAIMS.delta(protocol, 0.8).upper == pytest.approx(guarantee.delta, rel=1e-2)
    with refused("blanket_probability=0.0"):
        CLAIMS.delta(VectorSum(500, 3, 2, 0.0), 0.8)


def test_too_few_users_are_infeasible() -> None:
    with pytest.raises(InfeasibleBudgetError, match=r"users=1, levels=1"):
        CLAIMS.least_blanket(1, 2, 1, Budget(1e-7, 1e-9))


# ---------------------------------------------------------------------- the counterexamples of the entries


def test_a_run_is_as_many_reports_and_what_hides_too_few_of_them() -> None:
    protocol = VectorSum(500, 8, 3, 0.5, 3)
    claims, adversary = VectorSumClaims(), ThreatModel.COMMUNICATION
    families = claims.families(protocol, adversary, 1e-9)
    assert len(families) == 3
    ((pair,), attained) = families[0]
    assert not attained  # of a uniform subset of the coordinates none is known
    shortage = claims._others(protocol, 1e-14)[1]
    # All reports together lose at least what one of them may.
    assert -math.expm1(3 * math.log1p(-pair.missing_mass)) >= shortage > 0.0
    curve = claims.curve(protocol, Full(1), adversary)
    composed = Composition([(connect_the_dots(pair, 1e-4), 3)])
    for epsilon in (0.5, 2.0):
        assert composed.delta(epsilon).upper == pytest.approx(curve.delta(epsilon).upper, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("delta", "sampled"), [(1e-12, 2), (1e-15, 2), (1e-40, 2), (1e-40, 1)])
def test_the_least_blanket_spends_tiny_deltas_and_the_curve_agrees(delta: float, sampled: int) -> None:
    found = CLAIMS.least_blanket(10**6, 10, 3, (1.0, delta), sampled=sampled)
    curve = CLAIMS.curve(found, Full(1), ThreatModel.COMMUNICATION, reference_delta=delta)
    assert 0.9 * delta < curve.delta(1.0).upper <= delta


@pytest.mark.parametrize(("dimension", "sampled"), [(3, 2), (4, 2), (5, 3), (7, 2), (9, 4), (10, 9)])
def test_who_reports_one_coordinate_of_a_block_is_counted_exactly(dimension: int, sampled: int) -> None:
    sets = list(itertools.combinations(range(dimension), sampled))
    parts = np.array_split(np.arange(dimension), sampled)
    alone = min(Fraction(sum(len({*part} & {*chosen}) == 1 for chosen in sets), len(sets)) for part in parts)
    found = CLAIMS._alone(VectorSum(9, dimension, 1, 0.5, sampled=sampled))
    hidden = max(alone, Fraction(sampled, dimension))  # or what revealing the sampled set leaves
    assert hidden * (1 - Fraction(1, 10**13)) <= Fraction(found) <= hidden


def test_a_uniform_subset_needs_few_times_what_stratified_sampling_does() -> None:
    gammas = [
        CLAIMS.least_blanket(USERS, DIMENSION, LEVELS, (EPSILON, 1e-6), sampled=2, stratified=stratified)
        for stratified in (False, True)
    ]
    ratio = gammas[0].blanket_probability / gammas[1].blanket_probability
    assert 1.0 < ratio < 2.2  # 44 times, where the sampled set is revealed


def test_what_few_reports_cost_is_added_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorSumClaims, "_others", lambda *_: (9, 1e-18))
    monkeypatch.setattr(FamilyComposition, "delta", lambda *_: Interval(0.25, 0.25))
    assert VectorSumClaims().delta_upper(VectorSum(10, 4, 1, 0.5, 2), 1.0) > 0.25
