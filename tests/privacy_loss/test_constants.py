"""No constant of the engine may cost truth: each is made four times as large and as small, against exact divergences.

What is a fact and no choice is left out, by name: limits of floats, what a proof or a charge was computed for, and a
factor that must exceed 1 for a search to end.
"""

import functools
import importlib
import math
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dpverify import account
from dpverify.changes import L2Ball, L2Bounded
from dpverify.claims.shared import response_pairs
from dpverify.guarantee import CapacityError, Interval
from dpverify.privacy_loss import composing, datasets, floods, joint, losses, shuffling, windows
from dpverify.privacy_loss.composing.any_mix import AnyMix
from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.composing.grid_mixes import GridMixes, Steps
from dpverify.privacy_loss.composing.ordered_mixes import ordered_mixes
from dpverify.privacy_loss.composing.several import SeveralComposition, SeveralLaws
from dpverify.privacy_loss.floods.two_counts import negative_binomial_counts
from dpverify.privacy_loss.joint.joint_change import JointChange
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import mixed_reports
from dpverify.privacy_loss.losses.two_valued import TwoValuedCurve
from dpverify.privacy_loss.shuffling.amplification import pure
from dpverify.privacy_loss.shuffling.amplification import reports as shuffled
from dpverify.privacy_loss.windows.contour_composition import ContourComposition
from dpverify.privacy_loss.windows.gaussian import GaussianPrivacyLoss
from dpverify.privacy_loss.windows.grid import connect_the_dots, dominating_grid
from dpverify.privacy_loss.windows.product import delta_of_two
from dpverify.privacy_loss.windows.step import choose_step
from dpverify.privacy_loss.windows.transform import Composition
from protocols.bitsum import RandomizedResponse
from tests.privacy_loss.composing.test_any_mix import FLAT, RARE, STEEP, mixed, mixes
from tests.privacy_loss.composing.test_ordered_mixes import _listed, _responses, _worst
from tests.privacy_loss.exact import truth as exact_truth
from tests.privacy_loss.floods.test_two_counts import check
from tests.privacy_loss.joint.test_joint_change import product
from tests.privacy_loss.shuffling.test_amplification import USERS, least_private, randomized_response
from tests.privacy_loss.shuffling.test_hidden_report import LAWS, exact, hidden

FACTS = {
    "composing.any_mix": {"_LEAST_LOG_MASS", "_LEAST_VARIANCE"},
    "composing.ordered_mixes": {"_LEAST", "_MOST_EXPONENT"},
    "composing.rare_losses": {"_ROUNDED"},
    "composing.together": {"_LEAST_DEVIATION"},
    "datasets.report_sums": {"_STEEPEST", "_MOST"},
    "floods.smaller_count": {"_SMALLEST", "_DEEPEST"},
    "floods.two_counts": {"_FLOOR", "_FINER"},
    "joint.attained_change": {"_SHRUNK"},
    "joint.bit_change": {"_LARGEST_EXPONENT"},
    "joint.change_rates": {"_LARGEST_EXPONENT", "_RESOLUTION", "_LEAST_AROUND"},
    "joint.joint_change": {"_LARGEST_AROUND", "_LEAST_CHANCE", "_LEAST"},
    "losses.mixture": {"_LARGEST_EXPONENT"},
    "losses.recurrence": {"_LEVELS", "_BLOCK"},
    "losses.two_valued": {"_BITS", "_GUARD"},
    "shuffling.excess": {"_STEEPEST", "_SMALLEST"},
    "shuffling.gridded_excess": {"_LARGEST"},
    "shuffling.hidden_report": {"_MOST_USERS", "_LARGEST", "_ROOT2"},
    "windows.concentration": {"_LN2"},
    "windows.gaussian": {"_NODES", "_QUADRATURE", "_ROUNDED"},
    "windows.grid": {"_MOST_INDEX"},
    "windows.lower_end": {"_ROUNDING"},
    "windows.transform": {"_UNDERFLOW", "_BYTES_PER_CELL"},
}
"""By module: what floats hold, and what is charged or was proved for one value."""

Found = tuple[Interval, float | Fraction]
EPSILONS = (0.8,)


def contained(found: Interval, truth: float | Fraction) -> bool:
    """Return whether an interval has the truth, which is known to some roundings."""
    return found.lower * (1.0 - 1e-9) - 1e-15 <= truth <= found.upper * (1.0 + 1e-9) + 1e-15


@functools.cache
def largest(epsilon: float) -> float:
    return max(mixed(each, epsilon) for each in mixes([FLAT, STEEP, RARE], 3))


@functools.cache
def responses(epsilon: float) -> Fraction:
    return _worst([(_responses(4, Fraction(19, 64)), 3)], epsilon)


EVERY = [FLAT, STEEP, RARE]


def of_mixes() -> Iterator[Found]:
    family = FamilyComposition(EVERY, 3, relative_width=1e-4, reference_delta=1e-3)
    for epsilon in EPSILONS:
        truth = largest(epsilon)
        yield family.delta(epsilon), truth
        yield Interval(0.0, AnyMix(EVERY, FLAT, 3, epsilon=1.0, delta=0.05).delta(epsilon)), truth
        ordered = ordered_mixes([(EVERY, 3)], epsilon, 0.05, quick=True)
        yield Interval(0.0, 1.0 if ordered is None else ordered.delta(epsilon)), truth


def of_composing() -> Iterator[Found]:
    yield from of_mixes()
    groups = [[FLAT, RARE], [STEEP]]
    steps = Steps(0.02, 0.02, along_contours=True)
    along = GridMixes(groups, [FLAT, STEEP], 3, steps, 1e-4, 1e-3)
    laws = SeveralLaws([EVERY, EVERY], [EVERY, EVERY], [1, 2], relative_width=1e-3, reference_delta=1e-3)
    several = SeveralComposition(laws, [1, 2], [1, 2])
    for epsilon in EPSILONS:
        truth = largest(epsilon)
        yield several.delta(epsilon), truth
        yield Interval(along.lower_delta(epsilon), along.upper_delta(epsilon, 1.0)), truth


def of_datasets() -> Iterator[Found]:
    response_pairs.cover.cache_clear()
    truth = responses(0.75)
    yield account(RandomizedResponse(4, 19 / 64), instances=3, delta=float(truth)).epsilon, 0.75


@functools.cache
def changed(epsilon: float, size: float, first: float) -> float:
    """Return the divergence if two bits' probabilities move by so much, beside one other user."""
    law = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    before, after = ((1.0 - chance) * law[0] + chance * law[1] for chance in (first, first + size))
    p, q = product([(before, after)] * 2)
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def of_bounded(kind: type[L2Bounded] = L2Bounded, first: float = 0.0) -> Iterator[Found]:
    pair = PrivacyLossDistribution.from_pmfs([0.8, 0.2], [0.2, 0.8])
    known = JointChange([pair], kind(0.32, 2), attained=[pair], reference_delta=0.1).delta(0.5)
    yield Interval(0.0, known.upper), changed(0.5, 0.4, first)
    yield Interval(known.lower, 1.0), changed(0.5, 1.0, 0.0)


def of_joint() -> Iterator[Found]:
    yield from of_bounded()
    yield from of_bounded(L2Ball, 0.3)


def of_floods() -> Iterator[Found]:
    for case in ((1.3, 0.4, (1.0, 0.7)), (0.5, 0.4, None)):
        check(negative_binomial_counts(*case, 1e-25, effort=3e4), case)
        yield Interval(0.0, 1.0), 0.5


@functools.cache
def mechanism(epsilon: float) -> Fraction:
    return least_private(randomized_response(1.5, 3), USERS, epsilon)


def of_shuffling() -> Iterator[Found]:
    others, first, second = LAWS[1]
    curves = shuffled(randomized_response(1.5, 3), USERS), pure(1.5, USERS), hidden(5, others, first, second)
    for epsilon in (0.05, 0.3):
        truth = mechanism(epsilon)
        yield curves[0].delta(epsilon), truth
        yield Interval(0.0, curves[1].delta(epsilon).upper), truth
        yield curves[2].delta(epsilon), exact(5, others, first, second, epsilon)


def of_losses() -> Iterator[Found]:
    odds = Fraction(9, 4)
    exact = (
        sum(math.comb(4, lies) * max(odds ** (4 - lies) - Fraction(math.exp(0.8)) * odds**lies, 0) for lies in range(5))
        / (1 + odds) ** 4
    )
    yield TwoValuedCurve(Interval.proved(math.log(2.25), math.log(2.25)), 4).delta(0.8), exact
    one, zero = _responses(4, Fraction(19, 64))[1]
    for pair, laws in zip(mixed_reports(4, 1, 19 / 64), ((one, zero), (zero, one)), strict=True):
        yield pair.delta(0.25), exact_truth([laws], [1], 0.25).lower


def of_windows() -> Iterator[Found]:
    parts = [(connect_the_dots(FLAT, choose_step(FLAT, 3, relative_width=1e-2, reference_delta=1e-2)), 2)]
    parts += [(connect_the_dots(STEEP, parts[0][0].step), 1)]
    either = [(dominating_grid([FLAT, STEEP], 0.05), 3)]
    noise = GaussianPrivacyLoss(0.8)
    for epsilon in EPSILONS:
        for curve in (Composition(parts), ContourComposition(parts), ContourComposition(parts, shared_at=1e-2)):
            yield curve.delta(epsilon), mixed([FLAT, FLAT, STEEP], epsilon)
        yield Interval(0.0, Composition(either).delta(epsilon).upper), mixed([FLAT] * 3, epsilon)
        total = 0.8 * math.sqrt(3.0)
        tails = [0.5 * math.erfc((epsilon / total + side * total / 2.0) / math.sqrt(2.0)) for side in (-1.0, 1.0)]
        for found in (noise.composed(3).delta(epsilon), Composition([(noise.on_grid(0.05), 3)]).delta(epsilon)):
            yield found, tails[0] - math.exp(epsilon) * tails[1]
        yield delta_of_two(FLAT, STEEP, epsilon), mixed([FLAT, STEEP], epsilon)


ANSWERS: dict[ModuleType, tuple[Callable[[], Iterator[Found]], ...]] = {
    composing: (of_composing,),
    datasets: (of_datasets,),
    floods: (of_floods,),
    joint: (of_joint,),
    losses: (of_losses, of_floods, of_shuffling),
    shuffling: (of_shuffling,),
    windows: (of_windows,),
}
CHEAPER: dict[str, Callable[[], Iterator[Found]]] = {
    **dict.fromkeys(("any_mix", "family", "ordered_mixes", "rare_losses"), of_mixes),
    **dict.fromkeys(("attained_change", "joint_loss", "largest_move"), of_bounded),
    "step": of_composing,
}
"""By module, where a part of its folder's answers has all that it computes, or those of another folder."""


def constants() -> Iterator[Any]:
    """Yield every number, and sequence of numbers, that a module of the engine sets for itself."""
    for folder in ANSWERS:
        for info in pkgutil.iter_modules(folder.__path__):
            name = f"{folder.__name__.rpartition('.')[2]}.{info.name}"
            module = importlib.import_module(f"{folder.__name__}.{info.name}")
            for key, value in vars(module).items():
                number = isinstance(value, int | float) and not isinstance(value, bool)
                if number and key.isupper() and key[0] == "_" and key not in FACTS.get(name, ()):
                    yield pytest.param(folder, module, key, id=f"{name}.{key}")


@pytest.mark.long
@pytest.mark.parametrize(("folder", "module", "name"), list(constants()))
def test_constants_cost_time_or_width_and_never_truth(
    folder: ModuleType, module: ModuleType, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = getattr(module, name)
    for factor in (0.25, 4.0):
        scaled = value * factor
        monkeypatch.setattr(module, name, max(int(scaled), 1) if isinstance(value, int) else scaled)
        cheaper = CHEAPER.get(module.__name__.rpartition(".")[2])
        for answers in ANSWERS[folder] if cheaper is None else (cheaper,):
            # A refusal is no untruth.
            with suppress(CapacityError):
                for found, truth in answers():
                    assert contained(found, truth), (factor, found, truth)


def test_what_is_a_fact_is_there() -> None:
    for name, held in FACTS.items():
        assert held <= set(vars(importlib.import_module(f"dpverify.privacy_loss.{name}")))


def test_the_settings_tell_what_is_wrong() -> None:
    pair = _listed(_responses(4, Fraction(19, 64))[0])
    assert not contained(FamilyComposition([pair.trimmed(0.01)], 3, step=0.01).delta(0.0625), Fraction(9, 10))
