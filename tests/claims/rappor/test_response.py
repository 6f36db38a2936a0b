"""RAPPOR's exact privacy against enumerated reports, in rational arithmetic."""

import itertools
import math
from fractions import Fraction

import pytest

from dpverify.changes import Full
from dpverify.claims.rappor.bloom import Split, splits
from dpverify.claims.rappor.client import count_law, exact_chances
from dpverify.claims.rappor.response import PermanentClaims, RapporClaims, change_seen
from dpverify.guarantee import ThreatModel
from dpverify.planning.account import account
from protocols.bitsum import LocalRandomizedResponse
from protocols.rappor.response import PermanentResponse, Rappor

CLAIMS, LIMIT = RapporClaims(), PermanentClaims()
DEFAULT = {"f": 0.5, "p": 0.5, "q": 0.75}


def products(laws: list[list[Fraction]]) -> list[Fraction]:
    return [math.prod(outcome) for outcome in itertools.product(*laws)]


def exact_delta(mechanism: Rappor, split: Split, instances: int, epsilon: float) -> float:
    """The divergence of all reports of a value whose pattern differs so from that of another one."""
    bit = [count_law(mechanism, held) for held in (0, 1)]
    differing = instances * sum(split)
    first = [1] * (instances * split.lost) + [0] * (instances * split.gained)
    one, other = (products([bit[held ^ turned] for held in first]) for turned in (0, 1))
    assert len(one) == (mechanism.reports + 1) ** differing
    grown = Fraction(math.exp(epsilon))
    return float(sum((max(a - grown * b, Fraction(0)) for a, b in zip(one, other, strict=True)), Fraction(0)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "instances"),
    [
        (Rappor(8, 1, f=0.3, p=0.2, q=0.7), 1),
        (Rappor(8, 2, f=0.3, p=0.2, q=0.7), 2),
        (Rappor(8, 2, f=0.3, p=0.2, q=0.7, reports=4), 1),
        (Rappor(8, 1, f=0.01, p=0.1, q=0.6, reports=3), 3),
        (Rappor(3, 2, f=0.3, p=0.2, q=0.7, reports=3), 1),
        (Rappor(5, 4, f=0.3, p=0.2, q=0.7, reports=2), 1),
        (Rappor(3, 2, f=0.3, p=0.2, q=0.7), 3),
        (Rappor(3, 3, f=0.3, p=0.01, q=0.3), 2),
        (Rappor(5, 3, f=0.3, p=0.01, q=0.3), 2),
        (Rappor(1, 1, f=0.3, p=0.2, q=0.7), 2),
    ],
    ids=str,
)
def test_the_curve_is_that_of_the_enumerated_reports(mechanism: Rappor, instances: int) -> None:
    curve = CLAIMS.curve(mechanism, Full(instances), ThreatModel.LOCAL, reference_delta=0.01)
    # Of several instances each may have another split.
    choices = itertools.combinations_with_replacement(splits(mechanism), instances)
    totals = {Split(*map(sum, zip(*choice, strict=True))) for choice in choices}
    for epsilon in (0.0, 0.4, 1.1, 2.5):
        exact = max(exact_delta(mechanism, total, 1, epsilon) for total in totals)
        found = curve.delta(epsilon)
        assert found.lower - 1e-14 <= exact <= found.upper + 1e-14
        assert found.width <= 1e-5


def test_a_mix_of_splits_is_worse_than_each_of_them() -> None:
    # Three bits and two hash functions: a user may change two bits for one in one value, and one for two in the next.
    mechanism = Rappor(3, 2, f=0.3, p=0.01, q=0.3)
    mixed = exact_delta(mechanism, Split(3, 3), 1, 5.06)
    assert mixed > 1.3 * max(exact_delta(mechanism, split, 2, 5.06) for split in splits(mechanism))
    found = CLAIMS.curve(mechanism, Full(2), ThreatModel.LOCAL, reference_delta=0.001).delta(5.06)
    assert found.lower * (1.0 - 1e-3) <= mixed <= found.upper
    assert found.width <= 2e-3 * mixed


@pytest.mark.long
@pytest.mark.parametrize(("bits", "hashes"), [(3, 2), (40, 25)])
@pytest.mark.parametrize("parameters", [{"f": 0.5, "p": 0.25, "q": 0.75}, {"f": 0.3, "p": 0.01, "q": 0.3}], ids=str)
def test_small_filters_are_narrow_for_many_values(bits: int, hashes: int, parameters: dict[str, float]) -> None:
    for instances in (2, 5, 50):
        found = account(Rappor(bits, hashes, **parameters), instances=instances, delta=1e-6).epsilon
        assert found.width <= 5e-4 * found.upper


def test_any_other_pair_of_patterns_is_less() -> None:
    mechanism = Rappor(4, 2, f=0.3, p=0.2, q=0.7, reports=2)
    curve = CLAIMS.curve(mechanism, Full(1), ThreatModel.LOCAL, reference_delta=0.01)
    patterns = [set(chosen) for size in (1, 2) for chosen in itertools.combinations(range(4), size)]
    for first, second in itertools.product(patterns, repeat=2):
        for epsilon in (0.0, 0.7, 1.6):
            exact = exact_delta(mechanism, Split(len(first - second), len(second - first)), 1, epsilon)
            assert exact <= curve.delta(epsilon).upper + 1e-15


def test_values_with_their_hash_functions_lose_what_their_patterns_differ_in() -> None:
    mechanism, values = Rappor(6, 2, cohorts=2, f=0.3, p=0.2, q=0.7), ["a", "b", "c"]
    curve = CLAIMS.curve_of(mechanism, values, Full(1), reference_delta=0.01)
    every = set()
    for cohort in range(2):
        sets = [set(places[cohort].tolist()) for places in mechanism.filter.positions(values)]
        every |= {Split(len(a - b), len(b - a)) for a in sets for b in sets}
    for epsilon in (0.0, 0.7, 1.6):
        exact = max(exact_delta(mechanism, split, 1, epsilon) for split in every)
        assert curve.delta(epsilon).lower - 1e-14 <= exact <= curve.delta(epsilon).upper + 1e-14
    largest = CLAIMS.pure_epsilon_of(mechanism, values)
    assert largest.upper <= CLAIMS.pure_epsilon(mechanism, ThreatModel.LOCAL).upper
    assert curve.delta(largest.upper).upper <= 1e-12 < curve.delta(0.99 * largest.lower).lower


def test_the_figures_of_the_theorems() -> None:
    one, limit = Rappor(128, 2, **DEFAULT), PermanentResponse(128, 2, f=0.5)
    for protocol, epsilon in (
        (one, 1.0742859),
        (Rappor(128, 2, **DEFAULT, reports=2), 2.0170080),
        (Rappor(128, 2, **DEFAULT, reports=10), 4.2993440),
        (limit, 4.3944492),
    ):
        found = account(protocol, delta=0).epsilon
        assert found.width < 1e-14
        assert found.lower == pytest.approx(epsilon, abs=1e-7)
    # Two patterns that share a bit lose more than two that share none.
    assert change_seen(Rappor(128, 2, f=0.5, p=0.1, q=0.3)).upper == pytest.approx(37.34, abs=0.005)
    assert [round(change_seen(Rappor(128, 2, **DEFAULT, reports=n)).upper, 1) for n in (1, 10, 100)] == [
        8.6,
        351.8,
        5019.1,
    ]
    hundred = LocalRandomizedResponse(1, 0.25)
    assert account(hundred, instances=100, delta=0).epsilon.upper == pytest.approx(100 * math.log(3))
    assert account(hundred, instances=100, delta=1e-6).epsilon.upper == pytest.approx(94.29, abs=0.005)
    exactly = math.comb(100, 75) * Fraction(1, 4) ** 75 * Fraction(3, 4) ** 25
    more = sum(math.comb(100, k) * Fraction(1, 4) ** k * Fraction(3, 4) ** (100 - k) for k in range(75, 101))
    assert (f"{float(exactly):.3e}", f"{float(more):.3e}") == ("1.279e-25", "1.435e-25")


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 4.0])
def test_more_reports_lose_more_and_never_more_than_the_limit(epsilon: float) -> None:
    limit = LIMIT.curve(PermanentResponse(64, 2, f=0.5), Full(1), ThreatModel.LOCAL).delta(epsilon)
    before = 0.0
    for reports in (1, 2, 4, 8, 50, 10**4):
        mechanism = Rappor(64, 2, **DEFAULT, reports=reports)
        found = CLAIMS.curve(mechanism, Full(1), ThreatModel.LOCAL).delta(epsilon)
        assert before <= found.upper
        assert found.lower <= limit.upper
        before = found.lower
    assert limit.lower <= found.upper
    assert found.width < 1e-4


def test_forgetting_has_no_limit() -> None:
    # The averaging attack: the same number of reports, from one permanent response and from new ones.
    kept = account(Rappor(64, 1, **DEFAULT, reports=50), delta=1e-6).epsilon
    forgotten = account(Rappor(64, 1, **DEFAULT), instances=50, delta=1e-6).epsilon
    assert kept.upper < 2.2
    assert forgotten.lower > 14.0
    assert forgotten.width < 1e-4


@pytest.mark.parametrize(
    ("mechanism", "known"),
    [
        (Rappor(1, 1, f=0.5, p=0.5, q=0.75), 0.1133),
        (Rappor(1, 1, f=0.75, p=0.02, q=0.1, reports=4), 0.4681),
        (Rappor(2, 1, f=0.3, p=0.2, q=0.7, reports=2), None),
        (Rappor(2, 2, f=0.3, p=0.2, q=0.7), None),
        (Rappor(3, 1, f=0.6, p=0.3, q=0.4), None),
        (Rappor(3, 2, f=0.6, p=0.01, q=0.3), None),
        (Rappor(3, 3, f=0.1, p=0.6, q=0.99), None),
        (Rappor(4, 2, f=0.4, p=0.1, q=0.3), 1.8605),
    ],
    ids=str,
)
def test_a_change_is_seen_as_in_the_enumerated_reports(mechanism: Rappor, known: float | None) -> None:
    """All reports, before and after, on all pairs of patterns that hash functions make."""
    flip, zero, one = exact_chances(mechanism)
    n, k, h = mechanism.reports, mechanism.bits, mechanism.hashes

    def counts(kept: int) -> list[Fraction]:
        chance = one if kept else zero
        return [math.comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)]

    def of_bit(before: int, after: int, *, stays: bool) -> list[Fraction]:
        weights = [(1 - flip, flip) if held else (flip, 1 - flip) for held in (before, after)]
        if stays:
            return [
                sum(weights[0][1 - kept] * counts(kept)[a] * counts(kept)[b] for kept in (0, 1))
                for a in range(n + 1)
                for b in range(n + 1)
            ]
        halves = [[sum(w[1 - kept] * counts(kept)[a] for kept in (0, 1)) for a in range(n + 1)] for w in weights]
        return [a * b for a in halves[0] for b in halves[1]]

    made = [held for held in itertools.product((0, 1), repeat=k) if 1 <= sum(held) <= h]
    exact = 0.0
    # The order of the bits does not matter.
    for held in {tuple(sorted(zip(*pair, strict=True))) for pair in itertools.product(made, repeat=2)}:
        stay = products([of_bit(before, before, stays=True) for before, _ in held])
        change = products([of_bit(*bit, stays=False) for bit in held])
        exact = max(exact, *(abs(math.log(a / b)) for a, b in zip(stay, change, strict=True)))
    found = change_seen(mechanism)
    assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
    assert known is None or exact == pytest.approx(known, abs=5e-5)


@pytest.mark.parametrize(
    "mechanism",
    [
        Rappor(bits, hashes, f=f, p=p, q=q, reports=reports)
        for bits, hashes in ((1, 1), (2, 2), (5, 3), (9, 4), (40, 3))
        for f, p, q in ((0.5, 0.1, 0.3), (0.99, 0.4, 0.5), (0.02, 0.7, 0.9))
        for reports in (1, 7)
    ],
    ids=str,
)
def test_no_pair_of_patterns_loses_more_at_a_change(mechanism: Rappor) -> None:
    """Bits are independent: all numbers of each kind of bits, with the largest loss of each from rationals."""
    flip, zero, one = exact_chances(mechanism)
    n, k, h = mechanism.reports, mechanism.bits, mechanism.hashes
    likely = {
        kept: [chance**c * (1 - chance) ** (n - c) for c in range(n + 1)] for kept, chance in ((0, zero), (1, one))
    }

    def losses(before: int, after: int) -> tuple[float, float]:
        w, v = ((1 - flip) if held else flip for held in (before, after))
        ratios = [
            (w * likely[1][a] * likely[1][b] + (1 - w) * likely[0][a] * likely[0][b])
            / (w * likely[1][a] + (1 - w) * likely[0][a])
            / (v * likely[1][b] + (1 - v) * likely[0][b])
            for a in range(n + 1)
            for b in range(n + 1)
        ]
        return math.log(max(ratios)), -math.log(min(ratios))

    kinds = [losses(*kind) for kind in ((1, 0), (0, 1), (1, 1), (0, 0))]
    exact = max(
        sum(count * kind[side] for count, kind in zip((a, b, c, k - a - b - c), kinds, strict=True))
        for side in (0, 1)
        for a, b, c in itertools.product(range(h + 1), repeat=3)
        if 1 <= a + c <= h and 1 <= b + c <= h and a + b + c <= k
    )
    found = change_seen(mechanism)
    assert found.lower - 1e-11 <= exact <= found.upper + 1e-11
    assert found.width <= 1e-12 * max(1.0, exact)


def test_days_of_other_protocols_and_values_add_up() -> None:
    mechanism = Rappor(64, 2, **DEFAULT, reports=3)
    both = account([(mechanism, 2), (LocalRandomizedResponse(1, 0.25), 1)], delta=1e-6).epsilon
    alone = account(mechanism, instances=2, delta=1e-6).epsilon
    assert alone.lower < both.lower <= both.upper < alone.upper + math.log(3)
    assert both.width < 1e-3
    many = Rappor(64, 8, **DEFAULT, reports=30)
    unlisted = account([(many, 2), (mechanism, 1)], delta=1e-6)
    assert unlisted.epsilon.upper == pytest.approx(
        account(many, instances=2, delta=0).epsilon.upper + account(mechanism, delta=0).epsilon.upper
    )
    assert any("too many losses to be listed" in note for note in unlisted.notes)


def test_what_is_said_of_the_supremum() -> None:
    assert CLAIMS.note(Rappor(8, 2, **DEFAULT), ThreatModel.LOCAL).startswith(
        "two values whose patterns differ in 4 bits"
    )
    assert CLAIMS.messages_per_user(Rappor(8, 2, **DEFAULT, reports=5)) == 5.0
    assert CLAIMS.users(Rappor(8, 2, **DEFAULT)) is None
