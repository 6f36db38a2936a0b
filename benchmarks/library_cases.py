"""The mechanisms of other libraries that `audit_libraries` audits: how each is called, what it claims, and its law."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import optimize, special

from dpverify.audit.running.target import Target
from dpverify.audit.subjects.libraries import library_target
from dpverify.laws import noise
from dpverify.laws.continuous import Gaussian, Laplace
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.claims import CurveClaim
from dpverify.statistics.bounds.renyi_claims import ConcentratedDP

EPSILON, DELTA = 1.0, 1e-3


@dataclass(frozen=True)
class Case:
    """One mechanism: how it is called, what it claims, and the law of its output on each input."""

    library: str
    name: str
    mechanism: Any
    claim: tuple[float, float] | CurveClaim | None
    inputs: tuple[Any, ...] = (0, 1)
    laws: Mapping[Any, Any] = field(default_factory=dict)
    floats: bool = False
    bits: int = 53
    residue: int = 0

    @property
    def target(self) -> Target:
        if isinstance(self.mechanism, Target):
            return self.mechanism
        return library_target(self.mechanism, name=self.name)


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
    spread = {0: [0, 0], 1: [1, -1]}
    chooser = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=1.0)
    chosen = {at: softmax([float(score) for score in scores]) for at, scores in spread.items()}
    claim = ConcentratedDP(chooser.map(1))
    yield Case("OpenDP", "noisy max, zCDP, scale 1", lambda at: chooser(spread[at]), claim, (0, 1), chosen)
    words = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    keys = dp.t.make_count_by(*words) >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)
    yield Case(
        "OpenDP", "keys by a threshold, Laplace", lambda users: keys(users[1:]), keys.map(1), (["x"], ["x", "a"])
    )
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
    yield Case(name, "Uniform, delta 0.1", dm.Uniform(delta=0.1, sensitivity=1), (1e-3, 0.1), ends, {}, True, residue=5)


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


def pipeline_dp() -> Iterator[Case]:
    computations = importlib.import_module("pipeline_dp.dp_computations")
    one = computations.LaplaceMechanism.create_from_epsilon(EPSILON, 1.0)
    two = computations.GaussianMechanism.create_from_epsilon_delta(EPSILON, DELTA, 1.0)
    name, ends = "PipelineDP", (0.0, 1.0)
    yield Case(name, "Laplace, float", one, (1, 0), ends, laplace(1.0), True)
    yield Case(name, "Gaussian, float", two, (1, DELTA), ends, gaussian(float(two.std)), True)


def tmlt() -> Iterator[Case]:
    discrete = importlib.import_module("tmlt.core.random.discrete_gaussian")
    continuous = importlib.import_module("tmlt.core.random.laplace")
    name = "Tumult Core"
    claim = (largest_epsilon(2.0, DELTA), DELTA)
    yield Case(
        name,
        "discrete Gaussian, sigma 2",
        lambda value: value + discrete.sample_dgauss(4.0),
        claim,
        (0, 1),
        integers(noise.discrete_gaussian(2.0)),
    )
    yield Case(
        name, "Laplace, float", lambda value: continuous.laplace(value, 1.0), (1, 0), (0.0, 1.0), laplace(1.0), True
    )


def opacus() -> Iterator[Case]:
    torch, optimizer, sampler = map(
        importlib.import_module, ("torch", "opacus.optimizers.optimizer", "opacus.utils.uniform_sampler")
    )

    def noisy(value: Any, rng: np.random.Generator, trials: int, secure: bool) -> Any:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        gradient = torch.full((trials,), float(value))
        return (gradient + optimizer._generate_noise(1.0, gradient, generator, secure)).numpy().astype(float)

    for secure in (False, True):
        target = Target(lambda *given, secure=secure: noisy(*given, secure), batch=True, name=f"secure_mode {secure}")
        claim = (largest_epsilon(1.0, DELTA), DELTA)
        yield Case("Opacus", f"noise, secure_mode={secure}", target, claim, (0.0, 1.0), gaussian(1.0), True, bits=24)

    def batches(size: Any, rng: np.random.Generator, trials: int) -> Any:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        drawn = sampler.UniformWithReplacementSampler(
            num_samples=int(size), sample_rate=0.3, generator=generator, steps=trials
        )
        return np.array([2 * len(batch) + (0 in batch) for batch in drawn], dtype=float)

    yield Case("Opacus", "Poisson sampling", Target(batches, batch=True), None, (20,), {20: poisson_batches(20, 0.3)})


def jax_privacy() -> Iterator[Case]:
    addition, selection, jax = map(
        importlib.import_module, ("jax_privacy.noise_addition", "jax_privacy.batch_selection", "jax")
    )

    def noisy(value: Any, rng: np.random.Generator, trials: int) -> Any:
        key = jax.random.key(int(rng.integers(2**31)))
        privatizer = addition.gaussian_privatizer(stddev=1.0, prng_key=key)
        gradient = jax.numpy.full(trials, float(value))
        return np.asarray(privatizer.update(gradient, privatizer.init(gradient))[0], dtype=float)

    claim = (largest_epsilon(1.0, DELTA), DELTA)
    target = Target(noisy, batch=True)
    yield Case("JAX Privacy", "Gaussian noise", target, claim, (0.0, 1.0), gaussian(1.0), True, bits=24)

    def batches(size: Any, rng: np.random.Generator, trials: int) -> Any:
        drawn = selection.CyclicPoissonSampling(sampling_prob=0.3, iterations=trials).batch_iterator(int(size), rng)
        return np.array([2 * len(batch) + (0 in batch) for batch in drawn], dtype=float)

    target = Target(batches, batch=True)
    yield Case("JAX Privacy", "Poisson sampling", target, None, (20,), {20: poisson_batches(20, 0.3)})


def recipes() -> Iterator[Case]:
    """What is written in numpy by hand."""
    name, scores = "numpy recipe", {at: np.array(each) / 2 for at, each in SCORES.items()}
    p = -math.expm1(-1.0)
    yield Case(
        name,
        "rng.geometric(p) - rng.geometric(p)",
        Target(lambda value, rng, runs: value + rng.geometric(p, runs) - rng.geometric(p, runs), batch=True),
        (1, 0),
        (0, 1),
        integers(noise.discrete_laplace(1.0)),
    )
    added = Target(lambda value, rng, runs: value + rng.laplace(scale=1.0, size=runs), batch=True)
    yield Case(name, "value + rng.laplace()", added, (1, 0), (0.0, 1.0), laplace(1.0), True)
    whole = Target(lambda value, rng, runs: np.rint(value + rng.laplace(scale=1.0, size=runs)), batch=True)
    yield Case(name, "round(value + rng.laplace())", whole, (1, 0), (0, 1), {at: rounded(at) for at in (0, 1)})
    sigma = smallest_sigma(EPSILON, DELTA)
    normal = Target(lambda value, rng, runs: value + rng.normal(scale=sigma, size=runs), batch=True)
    yield Case(name, "value + rng.normal(scale=sigma)", normal, (1, DELTA), (0.0, 1.0), gaussian(sigma), True)
    flipped = Target(lambda bit, rng, runs: np.where(rng.random(runs) < 0.75, bit, 1 - bit), batch=True)
    yield Case(name, "randomized response", flipped, (math.log(3), 0), (0, 1), coin(0.75))

    def chosen(at: Any, rng: np.random.Generator, runs: int) -> Any:
        weights = np.exp(scores[int(at)])
        return rng.choice(3, size=runs, p=weights / weights.sum())

    laws = {at: softmax(list(each)) for at, each in scores.items()}
    yield Case(name, "rng.choice(p=softmax)", Target(chosen, batch=True), (1, 0), (0, 1), laws)

    def loudest(at: Any, rng: np.random.Generator, runs: int) -> Any:
        return np.argmax(scores[int(at)] + rng.gumbel(size=(runs, 3)), axis=1)

    yield Case(name, "argmax(scores + rng.gumbel())", Target(loudest, batch=True), (1, 0), (0, 1), laws)


def poisson_batches(size: int, rate: float) -> DiscreteLaw:
    """Return the law of twice the size of a batch, plus one if the first example is in it."""
    others = [math.comb(size - 1, k) * rate**k * (1.0 - rate) ** (size - 1 - k) for k in range(size)]
    held = [(2 * (k + 1) + 1, rate * p) for k, p in enumerate(others)]
    return DiscreteLaw.from_mapping(dict([*held, *((2 * k, (1.0 - rate) * p) for k, p in enumerate(others))]))


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """Return delta of Gaussian noise at sensitivity 1 (balle2018)."""
    tails = (float(special.ndtr(sign / (2 * sigma) - epsilon * sigma)) for sign in (1, -1))
    return next(tails) - math.exp(epsilon) * next(tails)


def largest_epsilon(sigma: float, delta: float) -> float:
    return float(optimize.brentq(lambda epsilon: gaussian_delta(sigma, epsilon) - delta, 0.0, 100.0))


def smallest_sigma(epsilon: float, delta: float) -> float:
    return float(optimize.brentq(lambda sigma: gaussian_delta(sigma, epsilon) - delta, 0.1, 100.0))


LIBRARIES: dict[str, Callable[[], Iterator[Case]]] = {
    "opendp": opendp,
    "diffprivlib": diffprivlib,
    "pydp": pydp,
    "pipeline_dp": pipeline_dp,
    "tmlt.core": tmlt,
    "opacus": opacus,
    "jax_privacy": jax_privacy,
    "numpy": recipes,
}
