"""Audits of mechanisms of OpenDP, diffprivlib and PyDP: integer and float noise, coins and selections.

Each mechanism is audited as a black box on two neighbouring inputs at its own claim, with floats as they are and again
rounded to multiples of 2^-20, and against the law that its documentation states. What a black box refutes is looked at
by a second method that shares nothing with it: the exact denominators of fresh outputs, or the sum of an exact law.

    python -m benchmarks.audit_libraries [--trials 100000] [--detect 0.1] [--only WORD]

Needs `pip install '.[peers]'`; a library that is missing is reported as such.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special, stats

from dpverify import audit_mechanism
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.subjects.libraries import library_target
from dpverify.audit.subjects.own_law import law_subject
from dpverify.laws import noise
from dpverify.laws.continuous import Gaussian, Laplace
from dpverify.laws.discrete import DiscreteLaw

LEVEL = 1e-3
GRID = 2.0**-20
EPSILON, DELTA = 1.0, 1e-3


@dataclass(frozen=True)
class Case:
    """One mechanism: how it is called, what it claims, and the law of its output on each input."""

    library: str
    name: str
    mechanism: Any
    claim: tuple[float, float]
    inputs: tuple[Any, Any] = (0, 1)
    laws: Mapping[Any, Any] = field(default_factory=dict)
    floats: bool = False
    second: Callable[[Case, int], str] | None = None


def shifted(law: DiscreteLaw) -> dict[int, DiscreteLaw]:
    return {0: law, 1: law.image(lambda points: points + 1)}


def integers(law: Any) -> dict[int, DiscreteLaw]:
    return shifted(DiscreteLaw.from_integer_law(law))


def laplace(scale: float) -> dict[float, Laplace]:
    return {0.0: Laplace(0.0, scale), 1.0: Laplace(1.0, scale)}


def gaussian(sigma: float) -> dict[float, Gaussian]:
    return {0.0: Gaussian(0.0, sigma), 1.0: Gaussian(1.0, sigma)}


def coin(kept: float) -> dict[int, DiscreteLaw]:
    return {0: DiscreteLaw.of([0, 1], [kept, 1.0 - kept]), 1: DiscreteLaw.of([0, 1], [1.0 - kept, kept])}


def softmax(scores: list[float]) -> DiscreteLaw:
    weights = np.exp(np.array(scores))
    return DiscreteLaw.of(np.arange(len(scores)), weights / weights.sum())


def permute_and_flip(scores: list[float]) -> DiscreteLaw:
    """Return the law of the first candidate, in random order, whose coin of e^(score - best) shows heads."""
    heads = np.exp(np.array(scores) - max(scores))
    masses = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        reached = 1.0
        for candidate in order:
            masses[candidate] += reached * heads[candidate] / math.factorial(len(scores))
            reached *= 1.0 - heads[candidate]
    return DiscreteLaw.of(np.arange(len(scores)), masses)


SCORES = {0: [0, 0, 0], 1: [1, 0, 0]}
"""The utilities of three candidates on two neighbouring inputs, of sensitivity 1."""


def opendp() -> Iterator[Case]:
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    whole = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    real = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    sigma = 2.0
    approximate = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*whole, scale=sigma)).map(1).epsilon(DELTA)
    yield Case(
        "OpenDP",
        "Laplace, int",
        dp.m.make_laplace(*whole, scale=1.0),
        (1, 0),
        (0, 1),
        integers(noise.discrete_laplace(1.0)),
    )
    yield Case("OpenDP", "Laplace, float", dp.m.make_laplace(*real, scale=1.0), (1, 0), (0.0, 1.0), laplace(1.0), True)
    yield Case(
        "OpenDP",
        "Gaussian, int, zCDP to (eps, 1e-3)",
        dp.m.make_gaussian(*whole, scale=sigma),
        (approximate, DELTA),
        (0, 1),
        integers(noise.discrete_gaussian(sigma)),
    )
    yield Case(
        "OpenDP",
        "Gaussian, float, zCDP to (eps, 1e-3)",
        dp.m.make_gaussian(*real, scale=sigma),
        (approximate, DELTA),
        (0.0, 1.0),
        gaussian(sigma),
        True,
    )
    flip = dp.m.make_randomized_response_bool(prob=0.75)
    yield Case(
        "OpenDP", "randomized response, bool", lambda bit: int(flip(bool(bit))), (math.log(3), 0), (0, 1), coin(0.75)
    )
    labels = dp.m.make_randomized_response(categories=[0, 1, 2], prob=0.5)
    rows = {at: DiscreteLaw.of([0, 1, 2], np.where(np.arange(3) == at, 0.5, 0.25)) for at in (0, 1)}
    yield Case("OpenDP", "randomized response, 3 labels", labels, (math.log(2), 0), (0, 1), rows)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    most = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2.0)
    chosen = {at: permute_and_flip([score / 2 for score in scores]) for at, scores in SCORES.items()}
    yield Case("OpenDP", "noisy max, scale 2", lambda at: most(SCORES[at]), (1, 0), (0, 1), chosen)
    bits = dp.m.make_randomized_response_bitvec(dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=0.5)
    name, claim = "OpenDP", (bits.map(1), 0)
    yield Case(name, "bit vector, first and last bit", lambda byte: bits(bytes([byte])), claim, (1, 128))
    yield Case(name, "bit vector, one byte and two", lambda size: bits(bytes(size)), claim, (1, 2))
    canonical = dp.m.make_canonical_noise(*real, d_in=1.0, d_out=(EPSILON, DELTA))
    yield Case("OpenDP", "canonical noise, float", canonical, (EPSILON, DELTA), (0.0, 1.0), {}, True)


def diffprivlib() -> Iterator[Case]:
    dm = importlib.import_module("diffprivlib.mechanisms")
    pure, both = {"epsilon": EPSILON, "sensitivity": 1}, {"epsilon": EPSILON, "delta": DELTA, "sensitivity": 1}
    unit = {"lower": 0.0, "upper": 1.0}
    ends = (0.0, 1.0)
    name = "diffprivlib"
    yield Case(name, "Geometric", dm.Geometric(**pure), (1, 0), (0, 1), integers(noise.discrete_laplace(1.0)))
    discrete = dm.GaussianDiscrete(**both)
    discrete.randomise(0)
    yield Case(
        name,
        "GaussianDiscrete",
        discrete,
        (1, DELTA),
        (0, 1),
        integers(noise.discrete_gaussian(float(discrete._scale))),
    )
    binary = dm.Binary(epsilon=EPSILON, value0="0", value1="1")
    kept = math.e / (1 + math.e)
    yield Case(name, "Binary", lambda bit: int(binary.randomise(str(bit))), (1, 0), (0, 1), coin(kept))
    for kind, law in (("Exponential", softmax), ("PermuteAndFlip", permute_and_flip)):
        chooses = {at: getattr(dm, kind)(utility=[float(s) for s in scores], **pure) for at, scores in SCORES.items()}
        laws = {at: law([score / 2 for score in scores]) for at, scores in SCORES.items()}
        yield Case(name, kind, lambda at, chooses=chooses: chooses[at].randomise(), (1, 0), (0, 1), laws)
    yield Case(name, "Snapping", dm.Snapping(lower=-10, upper=10, **pure), (1, 0), ends, {}, True)
    yield Case(name, "Laplace", dm.Laplace(**pure), (1, 0), ends, laplace(1.0), True)
    yield Case(name, "LaplaceTruncated, [0, 1]", dm.LaplaceTruncated(**unit, **pure), (1, 0), ends, {}, True)
    yield Case(name, "LaplaceFolded, [0, 1]", dm.LaplaceFolded(**unit, **pure), (1, 0), ends, {}, True)
    yield Case(name, "LaplaceBoundedDomain, [0, 1]", dm.LaplaceBoundedDomain(**unit, **pure), (1, 0), ends, {}, True)
    yield Case(name, "LaplaceBoundedNoise", dm.LaplaceBoundedNoise(**both), (1, DELTA), ends, {}, True)
    normal, analytic = dm.Gaussian(**both), dm.GaussianAnalytic(**both)
    yield Case(name, "Gaussian", normal, (1, DELTA), ends, gaussian(float(normal._scale)), True)
    yield Case(name, "GaussianAnalytic", analytic, (1, DELTA), ends, gaussian(float(analytic._scale)), True)
    yield Case(name, "Staircase", dm.Staircase(**pure), (1, 0), ends, {}, True)
    yield Case(name, "Uniform, delta 0.1", dm.Uniform(delta=0.1, sensitivity=1), (1e-3, 0.1), ends, {}, True, residues)


def pydp() -> Iterator[Case]:
    numerical = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    algorithms = importlib.import_module("pydp.algorithms.laplacian")
    one = numerical.LaplaceMechanism(epsilon=EPSILON, sensitivity=1.0)
    two = numerical.GaussianMechanism(epsilon=EPSILON, delta=DELTA, sensitivity=1.0)
    name, ends = "PyDP", (0.0, 1.0)
    yield Case(name, "Laplace, int", one, (1, 0), (0, 1), {at: rounded(at) for at in (0, 1)})
    yield Case(name, "Laplace, float", one, (1, 0), ends, laplace(1.0), True)
    yield Case(name, "Gaussian, int", two, (1, DELTA), (0, 1))
    yield Case(name, "Gaussian, float", two, (1, DELTA), ends, gaussian(float(two.std)), True)
    less, more = [1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]
    bounds = {"lower_bound": 0, "upper_bound": 1}
    counted = algorithms.Count(epsilon=EPSILON, dtype="float")
    yield Case(name, "Count", counted, (1, 0), (less, more), {at: rounded(at) for at in (3, 4)})
    summed, mean = (
        kind(epsilon=EPSILON, dtype="float", **bounds) for kind in (algorithms.BoundedSum, algorithms.BoundedMean)
    )
    yield Case(name, "BoundedSum, float", summed, (1, 0), (less, more), {}, True)
    yield Case(name, "BoundedMean, float", mean, (1, 0), (less, more), {}, True)


def rounded(at: int) -> DiscreteLaw:
    """Return the law of at plus Laplace noise of scale 1, rounded to the nearest integer."""
    places = np.arange(-45, 46)
    inside = np.exp(-np.abs(places)) * math.sinh(0.5)
    return DiscreteLaw.of(at + places, np.where(places == 0, -math.expm1(-0.5), inside), 1e-15)


def finer(value: float, bits: int = 53) -> bool:
    """Return whether a float is no multiple of 2^-bits, in exact arithmetic."""
    return value.as_integer_ratio()[1] > 2**bits


def seen(case: Case, trials: int, event: Callable[[float], bool], words: str) -> str:
    """Count an event among fresh outputs on either input, and bound delta at the claimed epsilon by it."""
    counts = []
    for value in case.inputs:
        target = library_target(case.mechanism)
        draws = target(np.asarray(value), np.random.default_rng(0), trials, "a second look").tolist()
        counts.append(sum(map(event, draws)))
    most, least = max(counts), min(counts)
    low = float(stats.beta.ppf(LEVEL / 2, most, trials - most + 1)) if most else 0.0
    high = float(stats.beta.isf(LEVEL / 2, least + 1, trials - least))
    delta = low - math.exp(case.claim[0]) * high
    shown = f"; delta >= {delta:.3g} at epsilon {case.claim[0]:g}" if delta > case.claim[1] else ""
    return f"{words}: {counts[0]:,} and {counts[1]:,} of {trials:,}{shown}"


def fine_digits(case: Case, trials: int) -> str:
    return seen(case, trials, finer, "finer than 2^-53")


def residues(case: Case, trials: int) -> str:
    """Count outputs below 2 that are 5 k 2^-52, as the noise is: 1 plus such a number is none."""

    def event(value: float) -> bool:
        return abs(value) < 2.0 and int(value * 2.0**52) % 5 == 0

    return seen(case, trials, event, "below 2, in units of 2^-52 a multiple of 5")


def exact_epsilon(case: Case) -> str:
    """Return the least epsilon, or delta at the claim's epsilon, from the two laws: a sum, or a closed form."""
    first, second = (case.laws[value] for value in case.inputs)
    if isinstance(first, Gaussian):
        epsilon, sigma = case.claim[0], first.sigma
        tails = (float(special.ndtr(sign / (2 * sigma) - epsilon * sigma)) for sign in (1, -1))
        return f"exact delta {next(tails) - math.exp(epsilon) * next(tails):.6g} at epsilon {epsilon:.4g}"
    if not isinstance(first, DiscreteLaw):
        return ""
    points = np.union1d(first.points, second.points)
    p, q = first.probabilities(points), second.probabilities(points)
    both = (p > 0) & (q > 0)

    def excess(epsilon: float) -> float:
        grown = math.exp(epsilon)
        return max(float(np.maximum(a - grown * b, 0.0)[both].sum()) for a, b in ((p, q), (q, p)))

    if case.claim[1] == 0.0:
        return f"exact epsilon {float(np.abs(np.log(p[both] / q[both])).max()):.6f}"
    return f"exact delta {excess(case.claim[0]):.6g} at epsilon {case.claim[0]:.4g}"


def named(value: Any) -> Any:
    return len(value) if isinstance(value, list) else value


def audited(case: Case, trials: int, detect: float) -> Iterator[str]:
    """Yield the cells of a row."""
    target = library_target(case.mechanism, name=case.name)
    inputs = tuple(np.asarray(value) for value in case.inputs)
    how = {"trials": trials, "level": LEVEL, "detect": detect}
    whole = audit_mechanism(target, case.claim, inputs, **how)
    yield f"{whole.verdict.value}: {whole.epsilon_lower:.4g} to {whole.epsilon_upper:.4g}"
    coarse = audit_mechanism(target, case.claim, inputs, resolution=GRID, **how) if case.floats else None
    yield "" if coarse is None else f"{coarse.verdict.value}: {coarse.epsilon_lower:.4g} to {coarse.epsilon_upper:.4g}"
    if case.laws:
        cases = {str(value): (given, case.laws[named(value)]) for value, given in zip(case.inputs, inputs, strict=True)}
        yield audit_protocol(law_subject(target, cases), **how).verdict.value
    else:
        yield ""
    look = case.second or (fine_digits if case.floats else None)
    second = [look(case, 2 * trials)] if look else []
    if case.laws and not isinstance(case.inputs[0], list):
        second.append(exact_epsilon(case))
    yield "; ".join(filter(None, second))


LIBRARIES: dict[str, Callable[[], Iterator[Case]]] = {"opendp": opendp, "diffprivlib": diffprivlib, "pydp": pydp}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--detect", type=float, default=0.1, help="the relative fault that a pass must exclude")
    parser.add_argument("--only", default="", help="a word of the library's or the mechanism's name")
    options = parser.parse_args()
    print("| library | mechanism | claim | black box | rounded to 2^-20 | its law | second method | s |")
    print("|---|---|---|---|---|---|---|---|")
    for library, cases in LIBRARIES.items():
        try:
            importlib.import_module(library)
        except ImportError as error:
            print(f"| {library} | not installed: {error} |||||||", flush=True)
            continue
        for case in cases():
            if options.only.lower() not in f"{case.library} {case.name}".lower():
                continue
            start = time.perf_counter()
            cells = " | ".join(audited(case, options.trials, options.detect))
            claim = f"({case.claim[0]:.4g}, {case.claim[1]:g})"
            print(
                f"| {case.library} | {case.name} | {claim} | {cells} | {time.perf_counter() - start:.0f} |", flush=True
            )


if __name__ == "__main__":
    main()
