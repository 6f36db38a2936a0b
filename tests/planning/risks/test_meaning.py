"""What the best attacker reaches, against all that she can do with laws of a few outcomes, in rationals."""

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import dpverify
from dpverify.guarantee import Adjacency, Guarantee, Interval, Side, ThreatModel, enclosing_floats
from dpverify.planning.risks.meaning import Attack, Meaning, Risk, _log_odds, meaning_of
from dpverify.planning.steps.listed import ResponseStep
from dpverify.privacy_loss.losses.tradeoff import power_of_e
from protocols.bitsum import RandomizedResponse

Law = list[Fraction]
TINY = Fraction(1, 10**9)
PRIORS = ("0.5", "1/3", "0.9", "0.02")


def drawn(rng: np.random.Generator, outcomes: int) -> Law:
    weights = [int(weight) for weight in rng.integers(0, 12, outcomes)]
    weights[int(rng.integers(outcomes))] += 1
    return [Fraction(weight, sum(weights)) for weight in weights]


def curve_of(pairs: Sequence[tuple[Law, Law]]) -> Callable[[float], SimpleNamespace]:
    def delta(epsilon: float) -> Interval:
        low, high = (
            max(sum(max(a - power * b, Fraction(0)) for a, b in zip(*pair, strict=True)) for pair in pairs)
            for power in power_of_e(epsilon)[::-1]
        )
        return Interval(enclosing_floats(low)[0], enclosing_floats(high)[1])

    return lambda reference: SimpleNamespace(delta=delta)


def meant(pairs: Sequence[tuple[Law, Law]], adjacency: Adjacency, values: Sequence[int]) -> dict[object, Risk]:
    about = Guarantee(1.0, 0.1, adjacency, ThreatModel.CENTRAL, Side.UPPER_BOUND, "here", "here")
    both = [*pairs, *((q, p) for p, q in pairs)]
    made = meaning_of("x", about, curve_of(both), rates=[], priors=PRIORS, values=values, tolerance=1e-4)
    assert isinstance(made, Meaning)
    return {(risk.attack, risk.at): risk for risk in made.risks}


def distance(pair: tuple[Law, Law]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(*pair, strict=True)), Fraction(0)) / 2


def success(laws: Sequence[Law], chances: Sequence[Fraction]) -> Fraction:
    """Return how often the likeliest value is right, which no guess exceeds."""
    return sum(
        (max(chance * law[place] for law, chance in zip(laws, chances, strict=True)) for place in range(len(laws[0]))),
        Fraction(0),
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("adjacency", [Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE])
def test_no_guess_is_better_and_some_are_as_good(seed: int, adjacency: Adjacency) -> None:
    rng = np.random.default_rng(seed)
    outcomes = int(rng.integers(2, 6))
    laws = [drawn(rng, outcomes) for _ in range(4)]
    if adjacency is Adjacency.REPLACE_ONE:
        pairs = list(itertools.combinations(laws, 2))
    else:  # the first is of a record that is not there
        pairs = [(laws[0], law) for law in laws[1:]]
    risks = meant(pairs, adjacency, (2, 3, 4, 9))
    worst = max(pairs, key=distance)
    risk = risks[Attack.ADVANTAGE, None]
    assert risk.least <= distance(worst) <= risk.most <= distance(worst) + TINY
    for prior in map(Fraction, PRIORS):
        risk = risks[Attack.PRIOR, prior]
        best = max(success(pair, (prior, 1 - prior)) for p, q in pairs for pair in ((p, q), (q, p)))
        assert risk.blind == max(prior, 1 - prior) <= risk.least <= best <= risk.most <= best + TINY
    for count in (2, 3, 4, 9):
        risk = risks[Attack.VALUES, Fraction(count)]
        even = [Fraction(1, count)] * count
        # A secret has these values, and each of them goes with any of the laws.
        if count < 5:
            chosen = itertools.combinations_with_replacement(laws, count)
            assert max(success(each, even) for each in chosen) <= risk.most
        assert risk.blind == Fraction(1, count) <= risk.least <= success([*worst, *[worst[0]] * (count - 2)], even)
    if adjacency is Adjacency.REPLACE_ONE:  # of two values nothing is left open
        risk = risks[Attack.VALUES, Fraction(2)]
        assert risk.most - risk.least < TINY


@pytest.mark.parametrize("count", [3, 10])
def test_bounds_on_guesses_of_values_are_reached(count: int) -> None:
    # Randomized response among m values reveals the value with probability S, and no law of its curve reveals it more.
    kept = Fraction(3, 5)
    laws = [[kept if i == j else (1 - kept) / (count - 1) for i in range(count)] for j in range(count)]
    risk = meant([(laws[0], laws[1])], Adjacency.REPLACE_ONE, (count,))[Attack.VALUES, Fraction(count)]
    assert success(laws, [Fraction(1, count)] * count) == kept <= risk.most < kept + Fraction(1, 100)
    # Where a record is there or not: of m values each is likelier by itself than without her, and nothing else changes.
    absent = [Fraction(1, count)] * count
    risk = meant([(absent, law) for law in laws], Adjacency.ADD_REMOVE, (count,))[Attack.VALUES, Fraction(count)]
    assert kept <= risk.most < kept + Fraction(1, 50)


def test_of_an_account() -> None:
    # One of two users' bits, flipped with probability 1/4: the number of ones among reports has three outcomes.
    found = dpverify.account(RandomizedResponse(2, 0.25), delta="0.1").meaning(rates=["0.1"], values=[2])
    ones = {bit: [Fraction(3 - 2 * bit, 4), Fraction(1 + 2 * bit, 4)] for bit in (0, 1)}
    views = {(mine, hers): list(np.convolve(ones[mine], ones[hers])) for mine in (0, 1) for hers in (0, 1)}
    pairs = [(views[0, hers], views[1, hers]) for hers in (0, 1)]
    apart = max(map(distance, pairs))
    assert found.advantage.lower <= apart <= found.advantage.upper
    assert found.advantage.width < 2e-3
    (risk,) = (risk for risk in found.risks if risk.attack is Attack.FALSE_NEGATIVES)
    least = min(1 - power_at(p, q, Fraction(1, 10)) for pair in pairs for p, q in (pair, pair[::-1]))
    assert risk.least <= least <= risk.most <= risk.least + Fraction(1, 200)
    assert found.false_negatives("0.1") == risk.value
    row = found.to_dict()["risks"][1]
    assert (row["adjacency"], row["threat_model"], row["blind"]) == ("replace-one", "communication", 0.9)


def power_at(p: Law, q: Law, rate: Fraction) -> Fraction:
    """Return how much of Q the best test takes, which takes so much of P (Neyman and Pearson)."""
    taken = Fraction(0)
    for a, b in sorted(zip(p, q, strict=True), key=lambda outcome: outcome[0] / outcome[1]):
        share = min(Fraction(1), rate / a)
        rate, taken = rate - share * a, taken + share * b
    return taken


@pytest.mark.long
def test_of_steps_and_schedules() -> None:
    steps = dpverify.account(dpverify.OpaqueStep(0.5, 0.01), delta="0.1", adjacency="zero-out").meaning()
    assert {risk.guarantee.adjacency for risk in steps.risks} == {Adjacency.ZERO_OUT}
    assert abs(steps.advantage.midpoint - (0.01 + 0.99 * np.tanh(0.25))) < 1e-3
    days = [(RandomizedResponse(100, 0.25), 1), (RandomizedResponse(200, 0.25), 1)]
    both = dpverify.account(days, delta="1e-3").meaning(rates=["0.1"], priors=[], values=[])
    one = dpverify.account(days[0][0], delta="1e-3").meaning().advantage
    assert one.upper < both.advantage.lower
    assert both.advantage.width < 0.02 * both.advantage.upper


def test_what_was_typed_is_shown() -> None:
    # Of reports that say nothing: exactly what is reached without them, in the digits that were typed.
    silent = dpverify.account(ResponseStep(1.0, 2), delta="0.1", adjacency="replace-one")
    text = str(silent.meaning(rates=["0.1"], priors=["0.3"]))
    assert all(f"{known} {known} {known}" in " ".join(text.split()) for known in ("0.9", "0.7", "0.01"))
    assert "899999" not in text


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rates": ["0"]}, r"^rates='0' must be in \[1e-9, 1 - 1e-9\]"),
        ({"rates": 0.5}, r"^rates=0\.5 must be a list"),
        ({"priors": [1]}, r"^priors=1 must be in \[1e-9"),
        ({"values": [1]}, r"^values=1 must be an integer in"),
        ({"relative_width": 0.0}, r"^relative_width=0\.0 must be a finite"),
    ],
)
def test_what_is_out_of_range_is_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises((TypeError, ValueError), match=told):
        dpverify.account(RandomizedResponse(20, 0.3), delta="0.1").meaning(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("prior", ["1/3", "0.1", "0.499999", "1e-9", "0.0271828"])
def test_floats_beside_exact_odds_and_powers_are_on_their_sides(prior: str) -> None:
    with ctx.workprec(200):
        low, high = _log_odds(Fraction(prior))
        exact = arb(fmpq(*((1 - Fraction(prior)) / Fraction(prior)).as_integer_ratio())).log()
        assert arb(low) < exact < arb(high)
        assert high - low < 1e-13
        below, above = (arb(fmpq(*end.as_integer_ratio())) for end in power_of_e(high))
        assert below < arb(high).exp() < above
        assert above - below < 1e-14 * above
