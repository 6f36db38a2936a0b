"""Events of dp-accounting as steps; needs the optional dependency `dp-accounting` only where one is given.

An event says what was done, not for which adjacency: that is asked for. Only what is exact is translated; composition
there may be adaptive, and is covered. Noise multipliers are relative to the largest norm of one record, as here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dpverify.guarantee import enclosing_floats
from dpverify.planning.steps.integers import DiscreteLaplaceStep
from dpverify.planning.steps.listed import ResponseStep
from dpverify.planning.steps.mixtures import MixtureStep
from dpverify.planning.steps.renyi import ConcentratedStep
from dpverify.planning.steps.sampling import Sampling
from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Step
from protocols.validation import check_integer

__all__ = ["is_event", "steps_of_event"]

_SAMPLED, _BATCHES = "PoissonSampledDpEvent", "SampledWithoutReplacementDpEvent"
_NOISE: dict[str, Callable[[Any, float, Sampling], Step]] = {
    "GaussianDpEvent": lambda event, rate, kind: NoisyStep(event.noise_multiplier, rate, sampling=kind),
    "LaplaceDpEvent": lambda event, rate, kind: NoisyStep(event.noise_multiplier, rate, NoiseLaw.LAPLACE, kind),
    "DiscreteLaplaceDpEvent": lambda event, rate, kind: DiscreteLaplaceStep(
        event.noise_parameter, event.sensitivity, rate, kind
    ),
}
_WHY = {
    "NonPrivateDpEvent": "it is not private at all",
    "UnsupportedDpEvent": "nothing is known of it",
    "SampledWithReplacementDpEvent": "no pair is proved to dominate batches that may hold a record twice",
    "TruncatedSubsampledGaussianDpEvent": "no pair is proved to dominate truncated batches",
    "RepeatAndSelectDpEvent": "it says nothing but Renyi divergences, which prove no lower end",
}


def is_event(given: Any) -> bool:
    """Return whether something is an event of dp-accounting, without importing it."""
    return any(
        each.__module__.startswith("dp_accounting.") and each.__name__ == "DpEvent" for each in type(given).__mro__
    )


def steps_of_event(event: Any) -> list[tuple[Step, int]]:
    """Return the steps that an event is composed of, and how often each is made.

    - event: Composed, also of itself, of Gaussian and Laplace noise, discrete Laplace noise, each on all records, by
      Poisson sampling or in batches of a fixed size without replacement; of mixtures of Gaussians, randomized
      response and zero-concentrated privacy. The rate of a batch is the next float above its share.

    Raises ValueError for what is not covered, in a sentence that names it, and for what has no step at all.
    """
    found = list(_parts(event, 1))
    if not found:
        raise ValueError(f"event={event!r} must hold at least one step.")
    return found


def _parts(event: Any, count: int) -> Iterator[tuple[Step, int]]:
    name = type(event).__name__
    if name == "NoOpDpEvent":
        return
    if name == "SelfComposedDpEvent":
        yield from _parts(event.event, count * event.count)
    elif name == "ComposedDpEvent":
        for part in event.events:
            yield from _parts(part, count)
    elif name in _NOISE:
        yield _NOISE[name](event, 1.0, Sampling.POISSON), count
    elif name == "MixtureOfGaussiansDpEvent":
        kept = [(move, share) for move, share in zip(event.sensitivities, event.sampling_probs, strict=True) if share]
        if any(move for move, _ in kept):
            moves, weights = zip(*kept, strict=True)
            yield MixtureStep(event.standard_deviation, moves, weights), count
    elif name == "ZCDpEvent":
        yield ConcentratedStep(event.rho, event.xi), count
    elif (name == _SAMPLED and event.sampling_probability == 0.0) or (name == _BATCHES and event.sample_size == 0):
        return
    elif name == _SAMPLED and type(event.event).__name__ in _NOISE:
        yield _NOISE[type(event.event).__name__](event.event, event.sampling_probability, Sampling.POISSON), count
    elif name == _BATCHES and type(event.event).__name__ in _NOISE:
        size = check_integer("source_dataset_size", event.source_dataset_size, low=1)
        batch = check_integer("sample_size", event.sample_size, low=1, high=size - 1)
        rate = enclosing_floats(Fraction(batch, size))[1]
        yield _NOISE[type(event.event).__name__](event.event, rate, Sampling.FIXED_SIZE), count
    elif name == "RandomizedResponseDpEvent":
        if event.num_buckets > 1 and event.noise_parameter < 1.0:
            yield ResponseStep(event.noise_parameter, event.num_buckets), count
    else:
        of = f" of {type(event.event).__name__}" if name in (_SAMPLED, _BATCHES) else ""
        raise ValueError(f"event={name}{of} is not covered: {_WHY.get(name, 'no pair is proved to dominate it')}.")
