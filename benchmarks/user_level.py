"""User-level learners: the least samples and users that work, beside what is proved and what the source asks for.

    python -m benchmarks.user_level

Each task is a class, a law of examples, and the error alpha and failure beta that are wanted. The private learners
need a stable learner that is (0.9, 1 - beta/3)-pseudo-globally stable: for the share 1 - beta/3 of all public
randomness, 0.9 of all samples lead to h_r.

- samples, measured: the least m, in steps of 12 %, at which that holds in a simulation (whose error is a few per cent);
- samples, enough: the proof here, for every law;
- samples, published: Algorithm 3 or 5 as printed, at beta/3;
- users: the least n whose selection misses h_r with probability beta/3 at most, exact or proved, at (0.5, 1e-6);
- errors: of whole private fits with those m and n in the central model, the share with an error above alpha.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.shared.buckets import least_shape, under_estimating
from dpverify.claims.user_level import statistical_queries
from dpverify.claims.user_level.classifier import least_users
from dpverify.claims.user_level.stable_learner import enough_samples, enough_sharpness, measured_stability
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import user_level as formulas
from dpverify.guarantee import Budget
from protocols.selection import Selection
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.local_selection import HadamardSelection
from protocols.user_level.representations import DecisionLists, HashedPoints, Representation, Thresholds
from protocols.user_level.stable_learner import StableLearner, WeighedHypotheses, WeighingLearner
from protocols.user_level.statistical_queries import Bisection, QueryLearner, RoundedQueries, rounded_answer

BETA, ETA = 0.09, 0.9
BUDGET = Budget("0.5", "1e-6")


@dataclass(frozen=True)
class Task:
    """A class, how it is learned, the law of the examples, and the error that is wanted."""

    name: str
    learner: StableLearner
    law: NDArray[np.float64]
    alpha: float


def labelled(masses: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the law of points with their labels."""
    law = np.zeros((masses.size, 2))
    law[np.arange(masses.size), labels] = masses / masses.sum()
    return law


def weighing(representation: Representation, alpha: float, missed: float) -> WeighingLearner:
    """Return Algorithm 3 at the least sharpness that is enough: all of beta/3 but what the representation misses."""
    reached = 0.0 if missed == 0.0 else alpha / 2.0
    sharpness = enough_sharpness(representation.hypotheses, alpha, BETA / 3.0 - missed, reached=reached)
    return WeighingLearner(representation, sharpness)


def tasks() -> list[Task]:
    """Return the tasks of the table."""
    lists = DecisionLists(3)
    points = np.arange(8)
    target = np.where(points >> 1 & 1, 0, np.where(points >> 2 & 1, points & 1, 1))
    masses = np.full(1000, 0.5 / 999)
    masses[77] = 0.5
    uniform = np.ones(16)
    alpha = 0.09
    buckets = math.ceil(2.0 / (alpha / 2.0 * BETA / 3.0))
    return [
        Task(
            "thresholds on 16 points",
            weighing(Thresholds(16), alpha, 0.0),
            labelled(uniform, (np.arange(16) >= 7).astype(int)),
            alpha,
        ),
        Task(
            "thresholds, close to a tie",
            weighing(Thresholds(16), alpha, 0.0),
            # A step of a threshold changes the error by 1 / gamma or so: no hypothesis is much likelier than the next.
            labelled(np.where(np.abs(np.arange(16) - 6.5) < 5, 0.012, 0.147), (np.arange(16) >= 7).astype(int)),
            alpha,
        ),
        Task("decision lists, 3 bits", weighing(lists, alpha, 0.0), labelled(np.ones(8), target), alpha),
        Task(
            f"a point of 1000, hashed into {buckets}",
            weighing(HashedPoints(1000, buckets), alpha, BETA / 6.0),
            labelled(masses, (np.arange(1000) == 77).astype(int)),
            alpha,
        ),
        Task(
            "thresholds on 16, by queries",
            QueryLearner(Bisection(16, alpha / 2.0)),
            labelled(uniform, (np.arange(16) >= 7).astype(int)),
            alpha,
        ),
    ]


def unstable(task: Task, samples: int, seed: int) -> float:
    """Return the share of public randomness for which fewer than 0.9 of the samples lead to h_r."""
    rng = np.random.default_rng([seed, samples])
    if isinstance(task.learner, WeighingLearner):
        draws = 300 if task.learner.representation.hypotheses < 200 else 150
        return measured_stability(task.learner, task.law, samples, rng, draws=draws, trials=150).unstable(ETA)
    found = [
        statistical_queries.bisection_agreement(task.learner.drawn(rng), task.law, samples)  # type: ignore[arg-type]
        for _ in range(600)
    ]
    return float(np.mean(np.array(found) < ETA))


def least_measured(task: Task, seed: int) -> int:
    """Return the least number of samples, in steps of 12 %, at which the simulation is stable."""
    low, high = 1, 40
    while unstable(task, math.ceil(1.12**high), seed) > BETA / 3.0:
        low, high = high, high + 10
    while high - low > 1:
        middle = (low + high) // 2
        if unstable(task, math.ceil(1.12**middle), seed) <= BETA / 3.0:
            high = middle
        else:
            low = middle
    return math.ceil(1.12**high)


def proved_and_published(task: Task) -> tuple[int, float]:
    """Return the samples that are enough, and those of the source."""
    allowed = (1.0 - ETA) * BETA / 3.0
    if isinstance(task.learner, WeighingLearner):
        hypotheses = task.learner.representation.hypotheses
        bits = math.log2(hypotheses)
        sharpness = formulas.published_sharpness(FLOATS, bits, task.alpha, BETA / 3.0)
        return (
            enough_samples(hypotheses, task.learner.sharpness, allowed),
            float(formulas.published_samples(FLOATS, sharpness, bits, BETA / 3.0)),
        )
    algorithm = task.learner.algorithm  # type: ignore[attr-defined]
    each = formulas.published_query_samples(FLOATS, algorithm.queries, algorithm.tolerance, BETA / 3.0)
    return statistical_queries.enough_samples(algorithm, allowed), algorithm.queries * float(each)


def selections(hypotheses: int) -> dict[str, Callable[[int], object]]:
    """Return what selects among so many hypotheses, by model, for a number of users."""
    p = math.exp(-0.4 * BUDGET.epsilon)
    shape = least_shape(BUDGET, p, tolerance=1e-3)
    return {
        "local": lambda users: HadamardSelection(hypotheses, BUDGET.epsilon),
        "central": lambda users: ExponentialSelection(users, hypotheses, BUDGET.epsilon),
        "shuffle": lambda users: Selection(under_estimating(users, shape, p), hypotheses),
    }


def queried(public: RoundedQueries, law: NDArray[np.float64], samples: int, rng: np.random.Generator) -> int:
    """Return where a fresh sample leads, whose queries of values 0 and 1 have binomial counts."""
    own, offsets = samples // public.algorithm.queries, iter(public.offsets.tolist())

    def ask(query: NDArray[np.float64]) -> float:
        count = rng.binomial(own, min(1.0, float((query * law).sum())))
        return rounded_answer(count / own, public.steps, next(offsets))

    return public.algorithm.run(ask)


def failures(task: Task, samples: int, users: int, fits: int) -> float:
    """Return the share of central fits with an error above alpha."""
    rng = np.random.default_rng(5)
    domain = task.law.shape[0]
    failed = 0
    for _ in range(fits):
        public = task.learner.drawn(rng)
        if isinstance(public, WeighedHypotheses):
            counts = rng.multinomial(samples, task.law.ravel(), users)
            found = public.learn_counts(counts.reshape(users, domain, 2))
        else:
            found = np.array([queried(public, task.law, samples, rng) for _ in range(users)])  # type: ignore[arg-type]
        selected = ExponentialSelection(users, len(public.table), BUDGET.epsilon).run(found, rng)
        failed += task.law[np.arange(domain), 1 - public.table[selected]].sum() > task.alpha
    return failed / fits


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=100, help="whole private fits per task")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(f"beta = {BETA}, budget {BUDGET}; eta = {ETA}")
    print("| task | d | alpha | m measured | m enough | m published | n local | n central | n shuffle | errors | s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for task in tasks():
        start = time.perf_counter()
        public = task.learner.drawn(np.random.default_rng(0))
        hypotheses = len(public.table)
        measured = least_measured(task, given.seed)
        enough, published = proved_and_published(task)
        users = [least_users(make, ETA, BETA / 3.0) for make in selections(hypotheses).values()]
        errors = failures(task, measured, users[1], given.fits)
        cells = [task.name, f"{math.log2(hypotheses):.1f}", f"{task.alpha}", f"{measured:,}", f"{enough:,}"]
        cells += [f"{published:.1e}", *(f"{n:,}" for n in users), f"{errors:.3f}", f"{time.perf_counter() - start:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
