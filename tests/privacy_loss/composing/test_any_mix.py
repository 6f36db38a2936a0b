"""Any mix of many pairs against exact mixes, and with each error made so large that its charge shows."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.privacy_loss.composing import any_mix
from dpverify.privacy_loss.composing.any_mix import AnyMix
from dpverify.privacy_loss.composing.rare_losses import Classes
from dpverify.privacy_loss.datasets.covers import Branch
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import mixed_reports
from dpverify.privacy_loss.windows.contour import Contour
from dpverify.privacy_loss.windows.grid import connect_the_dots
from dpverify.privacy_loss.windows.transform import Composition
from tests.privacy_loss.exact import RationalPair, floats, rational_pairs, truth

DELTA = 1e-6
EPSILONS = (-0.5, 0.0, 0.3, 1.2, 2.5, 4.0)


def atoms(losses: Sequence[float], smaller: Sequence[float], **errors: float) -> PrivacyLossDistribution:
    """Return a pair with these losses, its masses under the second law given but for a factor."""
    weights = np.array(smaller) * np.exp(losses)
    return PrivacyLossDistribution(np.array(losses), weights / weights.sum(), **errors)  # type: ignore[arg-type]


FLAT = atoms([-0.5, 0.5], [0.7, 0.3])
STEEP = atoms([-0.2, 0.1, 0.9], [0.6, 0.36, 0.04])
RARE = atoms([-0.3, 0.2, 4.0], [0.5, 0.5, 1e-5])


def mixed(parts: Sequence[PrivacyLossDistribution], epsilon: float, *, shift: float = 0.0, scale: float = 1.0) -> float:
    """Return the divergence of a product if each loss is larger by `shift`, and each mass by a factor."""
    total = 0.0
    for outcome in itertools.product(*(zip(part.losses, part.masses, strict=True) for part in parts)):
        loss = sum(one for one, _ in outcome) + shift * len(parts)
        if loss > epsilon:
            total += math.prod(mass * scale for _, mass in outcome) * -math.expm1(epsilon - loss)
    return total


def mixes(members: Sequence[PrivacyLossDistribution], instances: int) -> list[Sequence[PrivacyLossDistribution]]:
    return list(itertools.combinations_with_replacement(members, instances))


def bound(members: Sequence[PrivacyLossDistribution], instances: int, **where: float) -> AnyMix:
    """Return the bound, sharp at a large delta unless told otherwise: near it all terms count."""
    return AnyMix(members, members[0], instances, **({"epsilon": 1.0, "delta": 0.05} | where))


@pytest.fixture(autouse=True)
def _whatever_the_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    # Few instances of few atoms are no normal law: the bound is far from sharp, and is to be computed all the same.
    monkeypatch.setattr(any_mix, "_HOPELESS", math.inf)


@settings(max_examples=20)
@given(st.lists(rational_pairs(4), min_size=1, max_size=3), st.integers(1, 4), st.sampled_from([1e-6, 1e-2, 0.3]))
def test_no_exact_mix_exceeds_the_bound(pairs: list[RationalPair], instances: int, delta: float) -> None:
    found = bound([floats(pair) for pair in pairs], instances, delta=delta)
    for mix in itertools.combinations_with_replacement(pairs, instances):
        for epsilon in EPSILONS:
            assert truth(mix, [1] * instances, epsilon).lower <= found.delta(epsilon)


@pytest.mark.parametrize("members", [(FLAT, STEEP), (STEEP, FLAT), (FLAT, STEEP, RARE), (RARE, FLAT)])
@pytest.mark.parametrize("delta", [0.2, 1e-4])
def test_the_bound_is_the_worst_members_whatever_the_guess(
    members: tuple[PrivacyLossDistribution, ...], delta: float
) -> None:
    instances = 6
    found = bound(members, instances, delta=delta)
    assert found.delta(4.0) < 0.5
    for epsilon in EPSILONS:
        assert max(mixed(mix, epsilon) for mix in mixes(members, instances)) <= found.delta(epsilon)


def worst_reports(users: int, flips: float) -> tuple[list[PrivacyLossDistribution], PrivacyLossDistribution]:
    pairs = [mixed_reports(users, ones, flips / users) for ones in (0, 1, 2, 5, 10, users // 4)]
    return [pair for both in pairs for pair in both], pairs[0].down


def truth_of(pair: PrivacyLossDistribution, instances: int) -> float:
    return Composition([(connect_the_dots(pair, 2e-3), instances)]).epsilon(DELTA).upper


def test_many_instances_cost_next_to_nothing() -> None:
    instances = 768
    members, worst = worst_reports(1000, 30.0)
    epsilon = truth_of(worst, instances)
    found = AnyMix(members, worst, instances, epsilon=epsilon, delta=DELTA).epsilon(DELTA)
    assert epsilon <= found * (1.0 + 1e-5) <= epsilon * (1.0 + 5e-4)


def test_rare_large_losses_have_terms_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # All 14 flips fail with a probability of 8e-7, and then the loss is 11: a comb, whose moduli do not fall off.
    members, worst = worst_reports(10**6, 14.0)
    epsilon = truth_of(worst, 400)
    found = AnyMix(members, worst, 400, epsilon=epsilon, delta=DELTA).epsilon(DELTA)
    assert epsilon <= found * (1.0 + 1e-5) <= epsilon * (1.0 + 1e-3)
    monkeypatch.setattr(any_mix, "_MOST_RARE", 1)
    assert AnyMix(members, worst, 400, epsilon=epsilon, delta=DELTA).epsilon(DELTA) > epsilon * (1.0 + 2e-3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("flips", "instances"),
    [(18.5, 48), (18.5, 50), (19.0, 40), (19.0, 50), (20.0, 16), (20.0, 32), (22.0, 16), (28.0, 40)],
)
def test_the_next_losses_have_terms_of_their_own(flips: float, instances: int) -> None:
    # A loss of 11 and one of 3 together are a comb, too; the worst members are next to the end.
    pairs = [mixed_reports(10**6, ones, flips / 10**6) for ones in (0, 1, 31, 62, 125, 500, 10**4)]
    worst = pairs[0].down
    epsilon = truth_of(worst, instances)
    members = [one for both in pairs for one in both]
    found = AnyMix(members, worst, instances, epsilon=epsilon, delta=DELTA).epsilon(DELTA)
    assert epsilon <= found * (1.0 + 1e-5) <= epsilon * (1.0 + 4e-4)


@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.5, 5.0, 8.0, 11.0])
def test_two_classes_bound_every_exact_mix(monkeypatch: pytest.MonkeyPatch, most: int, epsilon: float) -> None:
    # What is beyond 7 is one loss of each class, or two of them.
    one = atoms([-0.1, 3.0, 6.0], [1.0, 2e-3, 1e-4])
    other = atoms([-0.1, 2.5, 5.0, 6.5], [1.0, 2e-3, 1e-4, 2e-5])
    masses = [1.001 * float(one.masses[2]), 1.001 * float(one.masses[1])]
    monkeypatch.setattr(AnyMix, "_layouts", lambda self, worst: [self._layout(worst, most, masses)])
    monkeypatch.setattr(any_mix, "_MARGINS", (1.0,))
    found = AnyMix([one, other], one, 4, epsilon=8.0, delta=1e-2)
    assert max(mixed(mix, epsilon) for mix in mixes([one, other], 4)) <= found.delta(epsilon)


@pytest.mark.parametrize("error", [0.0, 0.1])
@pytest.mark.parametrize(("most", "by_mass"), [(2, False), (3, False), (3, True)])
def test_sets_of_two_classes_are_counted(
    monkeypatch: pytest.MonkeyPatch, most: int, by_mass: bool, error: float
) -> None:
    # Beyond 25 are one loss of each class, in 4 * 3 ways, and two of the first, in 6.
    losses, masses = np.array([-0.01, 10.0, 20.0]), np.array([0.998, 1e-3, 1e-3])
    pair = PrivacyLossDistribution(losses, masses, relative_error=error)
    made = AnyMix._layout

    def layout(self: AnyMix, *arguments: Any) -> Any:
        found = made(self, *arguments)
        known = {rare: None if by_mass and sum(rare) == 2 else along for rare, along in found.contours.items()}
        return replace(found, contours=known)

    monkeypatch.setattr(AnyMix, "_layout", layout)
    monkeypatch.setattr(AnyMix, "_layouts", lambda self, worst: [self._layout(worst, most, [1e-3, 1e-3])])
    monkeypatch.setattr(any_mix, "_MARGINS", (1.0,))
    found = AnyMix([pair], pair, 4, epsilon=25.0, delta=2e-5)
    exact = mixed([pair] * 4, 25.0, scale=1.0 / (1.0 - error))
    assert exact <= found.delta(25.0) <= (1.05 if (most, by_mass) == (3, False) else 1.4) * exact
    sums = any_mix.Sums(Contour(0.3, 0.1, 50, 1e-3), 2, Classes((1e-3, 1e-3), 0.0))
    moments = math.log(12.0) + 2.0 * math.log(1e-3) + 0.3 * (10.0 + 20.0)
    assert moments <= found._log_factor((1, 1), [Branch(pair)], sums) <= moments + 1e-9


@pytest.mark.parametrize("instances", [2, 3])
@pytest.mark.parametrize("epsilon", [18.5, 19.5])
def test_all_others_are_beside_a_rare_loss(monkeypatch: pytest.MonkeyPatch, instances: int, epsilon: float) -> None:
    # Without the losses of 2 of all others the rare one would exceed epsilon by little.
    pair = PrivacyLossDistribution(np.array([2.0, 20.0]), np.array([0.999, 0.001]))
    monkeypatch.setattr(AnyMix, "_layouts", lambda self, worst: [self._layout(worst, 2, [1e-3])])
    monkeypatch.setattr(any_mix, "_MARGINS", (1.0,))
    found, exact = AnyMix([pair], pair, instances, epsilon=epsilon, delta=1e-3), mixed([pair] * instances, epsilon)
    assert exact <= found.delta(epsilon) <= 1.3 * exact


def test_errors_show_where_the_bound_is_sharp(monkeypatch: pytest.MonkeyPatch) -> None:
    instances = 200
    members, worst = worst_reports(1000, 30.0)
    epsilon = truth_of(worst, instances)

    def found(**errors: float) -> AnyMix:
        rough = [replace(pair, **errors) for pair in members]  # type: ignore[arg-type]
        return AnyMix(rough, worst, instances, epsilon=epsilon, delta=DELTA)

    # Losses that are larger by so much in each instance, and masses.
    assert found(loss_error=0.01).epsilon(DELTA) >= (epsilon + 0.01 * instances) * (1.0 - 1e-5)
    assert found(relative_error=0.01).delta(epsilon) >= DELTA * 0.99**-instances * (1.0 - 1e-4)
    # Three tenths of each pair's mass are small losses, counted as larger ones, but counted.
    monkeypatch.setattr(any_mix, "_SMALLEST", 0.3 * instances)
    assert found().epsilon(DELTA) >= epsilon


def test_an_atom_is_divided_between_rare_and_common_losses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(any_mix, "_MARGINS", (0.5, 0.5))
    members, worst = worst_reports(10**6, 14.0)
    epsilon = truth_of(worst, 400)
    found = AnyMix(members, worst, 400, epsilon=epsilon, delta=DELTA).epsilon(DELTA)
    assert epsilon <= found * (1.0 + 1e-5) <= 1.1 * epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_errors_count_in_every_instance(epsilon: float) -> None:
    pairs, instances = [FLAT, STEEP], 6
    rough = [replace(pair, loss_error=0.02) for pair in pairs]
    assert mixed([FLAT] * instances, epsilon, shift=0.02) <= bound(rough, instances).delta(epsilon)
    rough = [replace(pair, relative_error=0.05) for pair in pairs]
    exact = min(mixed([FLAT] * instances, epsilon, scale=1.0 / 0.95), 1.0)
    assert exact <= bound(rough, instances).delta(epsilon)
    rough = [replace(pair, missing_mass=0.02, masses=0.98 * pair.masses) for pair in pairs]
    found = bound(rough, instances).delta(epsilon)
    assert min(mixed([FLAT] * instances, epsilon, scale=0.98) + 1.0 - 0.98**instances, 1.0) <= found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_LEFT_OUT", 3.0),
        ("_LEFT_OUT", 0.5),
        ("_NOTHING", 0.9),
        ("_SMALLEST", 5.0),
        ("_MARGINS", (1.5, 3.0)),
        ("_SMOOTHING", 0.3),
        ("_PERIOD", 2.0),
        ("_MOST_NODES", 0),
    ],
)
def test_whatever_is_left_out_is_charged(monkeypatch: pytest.MonkeyPatch, name: str, value: float) -> None:
    monkeypatch.setattr(any_mix, name, value)
    members, instances = (FLAT, RARE, STEEP), 5
    for delta in (0.3, 0.02):
        found = bound(members, instances, delta=delta)
        for epsilon in EPSILONS:
            assert max(mixed(mix, epsilon) for mix in mixes(members, instances)) <= found.delta(epsilon)


def test_epsilon_and_delta_are_one_curve() -> None:
    found = bound([FLAT, STEEP], 6)
    epsilon = found.epsilon(0.02)
    assert found.delta(epsilon) <= 0.02 < found.delta(epsilon * (1.0 - 1e-6))


@pytest.mark.parametrize("epsilon", [1e-300, 1e-160])
@pytest.mark.parametrize("instances", [1, 2, 3])
def test_next_to_nothing_is_an_epsilon_like_any_other(epsilon: float, instances: int) -> None:
    # All common losses are equal: their variance is that of epsilon, whose square leaves the floats.
    for pair in (atoms([0.0], [1.0]), atoms([0.0, 3.0], [1.0, 1e-6]), atoms([-1e-200, 1e-200], [0.5, 0.5])):
        found = AnyMix([pair], pair, instances, epsilon=epsilon, delta=1e-3)
        for x in (0.0, epsilon, 1.0, 3.5):
            assert mixed([pair] * instances, x) <= found.delta(x) <= 1.0


def test_nothing_is_claimed_beyond_what_is_listed() -> None:
    missing = replace(FLAT, missing_mass=0.01, masses=0.99 * FLAT.masses)
    assert bound([missing], 6).epsilon(0.05) == math.inf
    # A guess that bounds nothing well leaves the trivial bound.
    any_mix_of_nothing = bound([replace(FLAT, relative_error=1.0)], 6)
    assert any_mix_of_nothing.delta(1.0) == 1.0
    assert any_mix_of_nothing.epsilon(0.05) == math.inf
    with pytest.raises(ValueError, match="members is empty"):
        AnyMix([], FLAT, 6, epsilon=1.0, delta=0.05)


def test_what_stands_for_many_is_divided_where_it_is_too_much() -> None:
    pair, instances = atoms([-1.5, 1.5], [0.8, 0.2]), 6
    parts = [Branch(FLAT), Branch(STEEP)]
    divided = bound([FLAT, Branch(pair, lambda: parts)], instances)
    assert divided.delta(3.0) == pytest.approx(bound([FLAT, STEEP], instances).delta(3.0), rel=1e-3)
    assert divided.delta(3.0) < 0.5 * bound([FLAT, pair], instances).delta(3.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("errors", "wrong"), [({"loss_error": 0.05}, {"shift": 0.05}), ({"relative_error": 0.1}, {"scale": 1 / 0.9})]
)
@pytest.mark.parametrize("of_part", [True, False])
def test_what_parts_are_off_by_is_charged(
    epsilon: float, errors: dict[str, float], wrong: dict[str, float], of_part: bool
) -> None:
    # Of the whole, and of the other of both, the losses and masses are known to all digits.
    rough = replace(FLAT, **errors)  # type: ignore[arg-type]
    member, part = (FLAT, rough) if of_part else (rough, FLAT)
    found = bound([member, Branch(atoms([-1.5, 1.5], [0.8, 0.2]), lambda: [Branch(part)])], 6)
    assert min(mixed([FLAT] * 6, epsilon, **wrong), 1.0) <= found.delta(epsilon)


def test_rare_losses_of_parts_count() -> None:
    # The whole lists nothing of the largest loss of its part, as a listing may that leaves out its mass.
    rare = atoms([-0.3, 0.2, 6.0], [0.5, 0.5, 1e-6])
    whole = Branch(atoms([-0.9, 0.9], [0.7, 0.3]), lambda: [Branch(rare)])
    found = AnyMix([FLAT, whole], rare, 4, epsilon=3.0, delta=1e-4)
    for epsilon in EPSILONS:
        assert max(mixed(mix, epsilon) for mix in mixes([FLAT, rare], 4)) <= found.delta(epsilon)


def test_all_terms_are_of_the_parts_of_what_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    # One with the rare losses of a whole and the common ones of its part is no pair at all.
    whole = Branch(atoms([-1.5, 0.1, 1.5], [0.7, 0.2, 0.1]), lambda: [Branch(FLAT), Branch(STEEP)])
    asked = list[tuple[str, list[int]]]()

    def watch(owner: type, name: str, place: int) -> None:
        made = getattr(owner, name)

        def watched(self: Any, *arguments: Any) -> Any:
            asked.append((name, sorted(id(branch.pair) for branch in arguments[place])))
            found = made(self, *arguments)
            if name == "_largest":
                asked.append(("left", sorted(id(branch.pair) for branch in found[1])))
            return found

        monkeypatch.setattr(owner, name, watched)

    watch(AnyMix, "_bound", 0)
    watch(AnyMix, "_largest", 1)
    watch(any_mix.Sums, "others", 0)
    watch(any_mix.Sums, "largest_rare", 0)
    monkeypatch.setattr(AnyMix, "_layouts", lambda self, worst: [self._layout(worst, 3, [0.1])])
    bound([FLAT, whole], 6).delta(1.0)
    last = max(place for place, (name, _) in enumerate(asked) if name == "_bound")
    leaves = next(pairs for name, pairs in asked[last:] if name == "left")
    assert leaves == sorted([id(FLAT), id(FLAT), id(STEEP)])
    later = asked[last + 3 :]
    assert {name for name, _ in later} == {"_largest", "left", "others", "largest_rare"}
    assert all(pairs == leaves for _, pairs in later)
