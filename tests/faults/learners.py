"""Faults of stable learners, statistical queries and selections."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.audit.subject import Dataset, Subject
from dpverify.claims.registry import claims_named
from dpverify.claims.user_level.correlated_sampling import disagreement
from dpverify.laws.discrete import DiscreteLaw
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.statistical_queries import rounded_answer
from tests.faults.fault import Fault
from tests.faults.making import Array, D, Run, faults_of, subject_of

__all__ = ["CORRECT_LEARNERS", "LEARNER_FAULTS"]

ERRORS = np.array([[0.02, 0.05, 0.3], [0.05, 0.03, 0.25]])
"""Two users' errors of three hypotheses, weighed at sharpness 20."""
LAWS = np.exp(-20.0 * ERRORS) / np.exp(-20.0 * ERRORS).sum(axis=1, keepdims=True)


def _bernoulli(chance: float) -> DiscreteLaw:
    return DiscreteLaw.of([0, 1], [1.0 - chance, chance])


def _sampling_subject(run: Run) -> Subject:
    same = 1.0 - float(disagreement(*LAWS))
    columns = {user: (f"hypothesis of user {user}", DiscreteLaw.of(range(3), LAWS[user])) for user in range(2)}
    return subject_of(
        "stable learner", run, [Dataset("two users", ERRORS, {**columns, 2: ("they agree", _bernoulli(same))})]
    )


def _raced(
    clocks: Callable[[np.random.Generator, tuple[int, ...]], Array],
    *,
    sharpness: float = 20.0,
    shared: bool = True,
) -> Run:
    def run(errors: Array, rng: np.random.Generator, trials: int) -> Array:
        public = np.broadcast_to(clocks(rng, (trials, 1 if shared else 2, 3)), (trials, 2, 3))
        drawn = np.argmax(-sharpness * errors + public, axis=-1)
        return np.column_stack([drawn, drawn[:, 0] == drawn[:, 1]])

    return run


def _gumbel(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.gumbel(size=shape)


MEANS = np.array([0.31, 0.33, -0.47])


def _answers_subject(run: Run) -> Subject:
    def law(mean: float) -> DiscreteLaw:
        below = math.floor(10 * mean)
        return DiscreteLaw.of([below, below + 1], [1 - (10 * mean - below), 10 * mean - below])

    columns: dict[int, Any] = {at: (f"ten times the answer to {mean}", law(mean)) for at, mean in enumerate(MEANS)}
    columns[3] = ("answers to both agree", _bernoulli(1.0 - 10 * 0.02))
    return subject_of("statistical queries", run, [Dataset("three means", MEANS, columns)])


def _answered(answer: Callable[[float, float], float], *, shared: bool = True) -> Run:
    def run(means: Array, rng: np.random.Generator, trials: int) -> Array:
        offsets = np.broadcast_to(rng.random((trials, 1 if shared else 3)), (trials, 3))
        found = np.array([[answer(mean, t) for mean, t in zip(means, row, strict=True)] for row in offsets.tolist()])
        tens = np.round(10 * found)
        return np.column_stack([tens, tens[:, 0] == tens[:, 1]])

    return run


def _as_printed(mean: float, offset: float) -> float:
    """Round as Algorithm 5 is printed, to l = floor(u) or floor(u) + 1 of I = 10."""
    return (math.floor(mean) + (offset < mean - math.floor(mean))) / 10


CENTRAL_SELECTION = ExponentialSelection(6, 3, 1.0)
HADAMARD = HadamardSelection(5, 1.0)
CANDIDATES = np.array([0, 0, 0, 1, 1, 2])


def _central_subject(run: Run) -> Subject:
    law = claims_named("exponential-selection").output_law(CENTRAL_SELECTION, CANDIDATES)
    return subject_of("exponential selection", run, [Dataset("three, two and one", CANDIDATES, {0: ("selected", law)})])


def _drawn(weight: Callable[[Array], Array]) -> Run:
    def run(values: Array, rng: np.random.Generator, trials: int) -> Array:
        weights = weight(np.bincount(values, minlength=3).astype(float))
        return rng.choice(3, (trials, 1), p=weights / weights.sum())

    return run


def _noisy_counts(values: Array, rng: np.random.Generator, trials: int) -> Array:
    counts = np.bincount(values, minlength=3) + rng.laplace(0.0, 1.0, (trials, 3))
    return np.argmax(counts, axis=1)[:, np.newaxis]


def hadamard_subject(run: Run) -> Subject:
    law = claims_named("hadamard-selection").report_law(HADAMARD, 3)
    return subject_of("hadamard selection", run, [Dataset("value 3", np.array([3]), {0: ("report", law)})])


def reported(flip: float, *, rows: int = 8, first: int = 0) -> Run:
    def run(values: Array, rng: np.random.Generator, trials: int) -> Array:
        at = rng.integers(first, rows, trials)
        flips = rng.random(trials) < flip
        return (2 * at + (HADAMARD.signs(np.full(trials, values[0]), at) ^ flips))[:, np.newaxis]

    return run


CORRECT_LEARNERS: dict[str, Callable[[], Subject]] = {
    "stable learner": lambda: _sampling_subject(_raced(_gumbel)),
    "statistical queries": lambda: _answers_subject(_answered(lambda mean, t: rounded_answer(mean, 10, t))),
    "exponential selection": lambda: _central_subject(_drawn(lambda counts: np.exp(counts / 2.0))),
    "hadamard selection": lambda: hadamard_subject(reported(HADAMARD.flip_probability)),
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""


def _rows_in_turn(values: Array, rng: np.random.Generator, trials: int) -> Array:
    """Rows of the matrix are taken in turn: each report has its law, and the next row is known."""
    at = (rng.integers(8) + np.arange(trials)) % 8
    flips = rng.random(trials) < HADAMARD.flip_probability
    return (2 * at + (HADAMARD.signs(np.full(trials, values[0]), at) ^ flips))[:, np.newaxis]


def _hadamard_own_row_plain(values: Array, rng: np.random.Generator, trials: int) -> Array:
    at = rng.integers(0, 8, trials)
    flips = (rng.random(trials) < HADAMARD.flip_probability) & (at != values[0] + 1)
    return (2 * at + (HADAMARD.signs(np.full(trials, values[0]), at) ^ flips))[:, np.newaxis]


LEARNER_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "stable learner", _sampling_subject,
        ("learner-private-clocks", "every user draws her own clocks",
         "the public randomness is not shared, so that nothing is stable", _raced(_gumbel, shared=False)),
        ("learner-clocks-not-exponential", "uniform clocks in the race",
         "a race of the wrong clocks has other winners", _raced(lambda rng, shape: -np.log(rng.random(shape)))),
        ("learner-half-sharpness", "weights exp(-gamma err / 2)",
         "the factor of the exponential mechanism where there is no privacy to keep", _raced(_gumbel, sharpness=10.0)),
    ),
    *faults_of(
        "statistical queries", _answers_subject,
        ("queries-as-printed", "u instead of I u is rounded", "ghazi2021, Algorithm 5, read literally",
         _answered(_as_printed)),
        ("queries-nearest", "answers are rounded to the nearest grid point, without an offset",
         "stable but next to a boundary, where it never is",
         _answered(lambda mean, t: math.floor(10 * mean + 0.5) / 10)),
        ("queries-private-offsets", "every user draws her own offset", "the public randomness is not shared",
         _answered(lambda mean, t: rounded_answer(mean, 10, t), shared=False)),
        ("queries-clipped", "negative means are answered by 0", "the printed grid {0, 1/I, ..., 1}",
         _answered(lambda mean, t: max(0.0, rounded_answer(mean, 10, t)))),
    ),
    *faults_of(
        "exponential selection", _central_subject,
        ("selection-forgotten-half", "weights exp(eps c)", "right for added users; a replaced one then costs 2 eps",
         _drawn(np.exp)),
        ("selection-noisy-maximum", "the largest count with Laplace noise of scale 1",
         "another mechanism of a similar name, at twice the epsilon", _noisy_counts),
        ("selection-of-shares", "weights exp(eps c / (2 n))", "counts taken for shares",
         _drawn(lambda counts: np.exp(counts / 12.0))),
    ),
    *faults_of(
        "hadamard selection", hadamard_subject,
        ("hadamard-flips-10-percent-rarer", "flips with 0.9 / (1 + e^eps)",
         "a rounded constant: epsilon is 1.12 instead of 1", reported(0.9 * HADAMARD.flip_probability)),
        ("hadamard-rows-of-the-candidates", "rows among the candidates and not all K",
         "columns of a part of the matrix are not balanced", reported(HADAMARD.flip_probability, rows=5)),
        ("hadamard-without-first-row", "the row of ones is left out as it says nothing",
         "then estimates are biased and the law is another", reported(HADAMARD.flip_probability, first=1)),
        ("hadamard-own-row-plain", "the row of the value itself is never flipped", "an exception for the diagonal",
         _hadamard_own_row_plain),
    ),
    *faults_of(
        "hadamard selection", hadamard_subject,
        ("hadamard-rows-in-turn", "rows are taken in turn", "a counter for a random row", _rows_in_turn),
        by=D,
    ),
)  # fmt: skip
