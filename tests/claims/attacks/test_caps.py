"""What a cap on messages costs, against an enumeration of small crowds whose users draw their noise again."""

import functools
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverify.claims.attacks.caps import Cap, capped, least_cap, vector_caps
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.account import account
from protocols.bitsum import BitsumProtocol, NegativeBinomial, Poisson, Pure, RandomizedResponse, ThreeNB
from protocols.sums.vectors import ClientCaps, UnaryVectorSum
from tests.refusals import refused

Law = dict[tuple[int, int], float]
LISTED = 40


def _negative_binomial(shape: float, p: float) -> NDArray[np.float64]:
    z = np.arange(LISTED)
    log = [math.lgamma(k + shape) - math.lgamma(shape) - math.lgamma(k + 1) for k in z]
    return np.asarray(np.exp(np.array(log) + shape * math.log1p(-p) + z * math.log(p)))


def _noise(protocol: BitsumProtocol) -> Law:
    """Return the law of one user's noise, as (messages +1, messages -1)."""
    n = protocol.users
    if isinstance(protocol, Poisson):
        mean = protocol.mean / n
        return {(k, 0): math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(LISTED)}
    if isinstance(protocol, NegativeBinomial):
        return {(k, 0): float(f) for k, f in enumerate(_negative_binomial(protocol.shape / n, protocol.p))}
    assert isinstance(protocol, ThreeNB)
    own = _negative_binomial(protocol.shape / n, protocol.p)
    flood = _negative_binomial(protocol.flood_shape / n, protocol.flood_p)
    law: Law = {}
    for up in range(16):
        for down in range(16):
            for both in range(16):
                view = (up + both, down + both)
                law[view] = law.get(view, 0.0) + float(own[up] * own[down] * flood[both])
    return law


def _redrawn(law: Law, cap: int) -> tuple[Law, float]:
    kept = {view: f for view, f in law.items() if sum(view) <= cap - 1}
    total = sum(kept.values())
    return {view: f / total for view, f in kept.items()}, total


def _sum(a: Law, b: Law) -> Law:
    found: Law = {}
    for (u, v), f in a.items():
        for (x, y), g in b.items():
            found[u + x, v + y] = found.get((u + x, v + y), 0.0) + f * g
    return found


PROTOCOLS = (NegativeBinomial(3, 4.0, 0.4), Poisson(3, 5.0), ThreeNB(2, 0.3, 2.0, 0.3))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
@pytest.mark.parametrize("cap", [2, 4, 7])
def test_the_capped_view_keeps_what_is_stated(protocol: BitsumProtocol, cap: int) -> None:
    law = _noise(protocol)
    redrawn, total = _redrawn(law, cap)
    found = capped(protocol, cap)
    again = 1.0 - total**protocol.users
    assert again - 1e-9 <= found.drawn_again <= protocol.users * (1.0 - total) * (1.0 + 1e-6) + 1e-6
    view = functools.reduce(_sum, [redrawn] * protocol.users)
    for epsilon in (0.2, 1.0):
        # All others hold 0: what they hold shifts both views alike.
        one = {(u + 1, v): f for (u, v), f in view.items()}
        both = set(one) | set(view)
        truth = max(
            sum(max(a.get(at, 0.0) - math.exp(epsilon) * b.get(at, 0.0), 0.0) for at in both)
            for a, b in ((one, view), (view, one))
        )
        uncapped = account(protocol, epsilon=epsilon).delta
        assert truth <= found.delta(Budget(epsilon, min(uncapped.upper, 0.99))) + 1e-12
    mean = [sum(f * (u + v) for (u, v), f in one_law.items()) for one_law in (law, redrawn)]
    difference = [sum(f * (u - v) for (u, v), f in one_law.items()) for one_law in (law, redrawn)]
    squares = [sum(f * (u - v) ** 2 for (u, v), f in one_law.items()) for one_law in (law, redrawn)]
    variances = [square - m * m for square, m in zip(squares, difference, strict=True)]
    assert found.variance_ratio == pytest.approx(variances[1] / variances[0], rel=1e-5)
    assert found.variance_ratio <= 1.0
    lost = 0.0 if isinstance(protocol, ThreeNB) else protocol.users * (mean[0] - mean[1])
    assert found.mean_lost == pytest.approx(lost, rel=1e-5, abs=1e-9)
    # Of the two kinds of message the cap takes alike: the difference stays unbiased.
    assert not isinstance(protocol, ThreeNB) or abs(difference[1]) < 1e-12


def test_the_least_cap_is_cheap_and_one_less_is_not() -> None:
    for protocol in (Poisson(1000, 155.0), NegativeBinomial(1000, 400.0, 0.3), Pure(1000, 0.8, 0.0, 9.0, 0.9)):
        budget = Budget("1", "1e-6")
        found = least_cap(protocol, budget, instances=8)
        assert 1e-6 < found.delta(budget) <= 1.001e-6
        assert capped(protocol, found.messages - 1, instances=8).delta(budget) > 1.001e-6
        # Many messages are what a flood needs, and Poisson noise does not.
        assert found.messages < 12 or not isinstance(protocol, Poisson)
        assert found.messages > 100 or not isinstance(protocol, Pure)
        assert 1.0 - 1e-9 < found.variance_ratio <= 1.0


def test_a_cap_of_one_leaves_no_noise() -> None:
    found = capped(Poisson(10, 5.0), 1)
    assert (found.mean_lost, found.variance_ratio) == (pytest.approx(5.0), pytest.approx(0.0, abs=1e-15))
    assert found.delta(Budget(1, "1e-6")) == 1.0


def _exactly(protocol: BitsumProtocol, cap: int) -> tuple[Fraction, Fraction]:
    """Return the mean lost and the ratio of the variances of noise whose atoms are rational up to a factor."""
    assert isinstance(protocol, NegativeBinomial)
    s, p = Fraction(protocol.shape) / protocol.users, Fraction(protocol.p)
    atoms = [Fraction(1)]
    for k in range(cap - 1):
        atoms.append(atoms[-1] * p * (s + k) / (k + 1))
    total = sum(atoms)
    mean = sum(k * f for k, f in enumerate(atoms)) / total
    square = sum(k * k * f for k, f in enumerate(atoms)) / total
    full = s * p / (1 - p)
    return protocol.users * (full - mean), (square - mean**2) / (full / (1 - p))


@pytest.mark.parametrize(
    ("protocol", "cap"),
    [
        (NegativeBinomial(4, 5907.0, 0.3), 5),  # no mass in floats is left below the cap
        (NegativeBinomial(51, 2002.0, 0.999), 30),
        (NegativeBinomial(10**15, 5.0, 0.99), 30),  # a user sends noise with probability 2e-14 only
        (NegativeBinomial(1, 1e-300, 0.5), 1),
        (NegativeBinomial(487, 0.003, 0.3), 30),
        (NegativeBinomial(3, 4.0, 0.4), 3),
    ],
    ids=repr,
)
def test_caps_far_from_the_noise_lose_what_they_should(protocol: NegativeBinomial, cap: int) -> None:
    found = capped(protocol, cap)
    lost, ratio = _exactly(protocol, cap)
    assert found.mean_lost == pytest.approx(float(lost), rel=1e-9)
    assert found.variance_ratio == pytest.approx(float(ratio), rel=1e-9, abs=1e-15)
    assert found.mean_lost >= 0.0
    assert 0.0 <= found.variance_ratio <= 1.0


def test_a_cap_far_below_the_flood_leaves_two_that_are_alike() -> None:
    # As good as all of the kept noise is at the cap: two messages that are +1 or -1, or one pair.
    found = capped(ThreeNB(1, 0.3, 300.0, 0.9, 200.0), 3)
    own = [Fraction(1), 400 * Fraction(0.3), 400 * 401 * Fraction(0.3) ** 2 / 2]
    flood = [Fraction(1), 300 * Fraction(0.9)]
    kept = [own[0] * sum(flood), own[1], own[2]]
    variance = sum(w * (w + 400) * f for w, f in enumerate(kept)) / 401 / sum(kept)
    assert found.drawn_again == 1.0
    assert found.variance_ratio == pytest.approx(float(variance / (400 * Fraction(0.3) / (1 - Fraction(0.3)) ** 2)))


def test_large_epsilons_and_caps_are_answered_or_refused_in_words() -> None:
    cap = capped(Poisson(1000, 100.0), 8)
    assert cap.delta((1000, "1e-6")) == 1.0
    assert Cap(8, 0.0, 0.0, 1.0).delta((1e5, "1e-6")) == pytest.approx(1e-6)
    assert Cap(8, 1e-200, 0.0, 1.0).delta((400, "1e-6")) == pytest.approx(1e-6 + math.exp(400.0) * 1e-200)
    with pytest.raises(InfeasibleBudgetError, match="is proved for no cap"):
        least_cap(Poisson(1000, 100.0), (1000, "1e-6"))
    with refused("messages"):
        capped(Poisson(10, 5.0), 10**30)


def test_what_has_no_cap_is_refused() -> None:
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: capped(RandomizedResponse(5, 0.2), 3), TypeError, "must send noise as messages"),
        (
            lambda: capped(Poisson(5, 2.0), 0),
            ValueError,
            r"^messages=0 must be an integer in \[1, 9007199254740992\]\.$",
        ),
        (lambda: least_cap(Poisson(5, 2.0), (1, "1e-6"), share=0.0), ValueError, r"^share=0\.0 must be"),
        (lambda: least_cap(Poisson(5, 2.0), (1, "1e-30")), InfeasibleBudgetError, "is proved for no cap up to"),
        (lambda: least_cap(Poisson(5, 2.0), (1, 0)), InfeasibleBudgetError, "is proved for no cap up to"),
    ]
    for call, kind, said in calls:
        with pytest.raises(kind, match=said):
            call()


@pytest.mark.parametrize("share", [0.02, 0.7, 1.0, 1.3, 6.0])
@pytest.mark.parametrize("law", [NegativeBinomial, Poisson])
def test_a_tighter_cap_never_adds_to_the_error(law: type[NegativeBinomial] | type[Poisson], share: float) -> None:
    protocol = NegativeBinomial(10, 10 * share, 0.7) if law is NegativeBinomial else Poisson(10, 10 * share)
    ratios = [capped(protocol, messages).variance_ratio for messages in range(1, 40)]
    assert ratios[0] < 1e-15
    assert 0.5 < ratios[-1] <= 1.0
    assert all(before <= after * (1.0 + 1e-12) for before, after in itertools.pairwise(ratios))


def test_what_takes_no_caps_of_vectors() -> None:
    noise = Poisson(10, 500.0)
    for call, kind, said in (
        (lambda: vector_caps(noise, (1, "1e-6")), TypeError, "must be a UnaryVectorSum"),
        (lambda: vector_caps(UnaryVectorSum(noise, 2, 4.0), (1, "0.99"), share=1.0), InfeasibleBudgetError, "no noise"),
        (lambda: vector_caps(UnaryVectorSum(noise, 2, 1e300), (1, "1e-6")), ValueError, "below 2\\^53"),
        (lambda: UnaryVectorSum(noise, 2, 4.0).report([1, 0], caps=(1, 2, 3.0)), TypeError, "must be a ClientCaps"),
        (lambda: UnaryVectorSum(noise, 2, 4.0).report([1, 0], caps=ClientCaps(9, 9, -1.0)), ValueError, "largest_l1"),
    ):
        made: Any = call
        with pytest.raises(kind, match=said):
            made()


@pytest.mark.parametrize("noise", [NegativeBinomial(50, 30.0, 0.6), Poisson(50, 40.0)])
def test_caps_of_vectors_cost_no_more_than_they_say(noise: NegativeBinomial | Poisson) -> None:
    protocol = UnaryVectorSum(noise, 3, 2.5)
    budget = Budget(1, "1e-3")
    found = vector_caps(protocol, budget)
    most, whole, room = found.client

    def above(counts: int, bound: int) -> float:
        if isinstance(noise, Poisson):
            return float(stats.poisson(counts * noise.mean / 50).sf(bound))
        return float(stats.nbinom(counts * noise.shape / 50, 1.0 - noise.p).sf(bound))

    # Of all users: of one count or another of either, at most the sum; what both have in common is little.
    exactly = 1.0 - (1.0 - above(1, most)) ** 300, 1.0 - (1.0 - above(6, whole)) ** 50
    assert max(exactly) <= found.drawn_again <= sum(exactly) * 1.001
    assert found.delta >= (1e-3 + math.e * found.drawn_again) / (1.0 - found.drawn_again)
    assert found.delta <= 1.011e-3
    # One message less, of a count or in all, costs more than its half of the share.
    assert all(math.e * chance > 5e-6 for chance in (300 * above(1, most - 1), 50 * above(6, whole - 1)))
    # What an honest user sends has room: her vector's integers, and noise that is not drawn again.
    vectors = np.random.default_rng(5).normal(size=(2000, 3))
    places = protocol.scaled(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    assert np.abs(places).sum(axis=1).max() <= room
    assert np.ceil(np.abs(places)).max() + most <= found.per_count
    assert np.ceil(np.abs(places)).sum(axis=1).max() + whole <= found.messages
    # So that a real client never has more, noise of next to none included.
    for caps in (found.client, ClientCaps(1, 2, 1.5)):
        for own in vectors[:20]:
            counts = protocol.view(protocol.report(own / np.linalg.norm(own), random.Random(7), caps=caps))
            assert counts.max() <= math.ceil(protocol.largest) + caps.noise_per_count
            assert counts.sum() <= math.floor(caps.largest_l1) + 3 + caps.noise
