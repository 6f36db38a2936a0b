"""What is true of `protocols.user_level.statistical_queries`.

**The laws of an answer.** With t uniform in [0, 1), `floor(I u + t) / I` is one of the two grid points around u, with
mean u, and always within 1/I of it. `floor(I u + t)` and `floor(I v + t)` differ iff an integer is in between: with
probability `min(1, I |u - v|)` where that is below 1, and surely from there on.

**Stability.** As long as all answers so far are those that the exact means lead to, the next query is too, and its mean
over m' fresh examples has a standard deviation of 1 / sqrt(m') at most. So q answers all agree but for a probability of
`q I / sqrt(m')` at most, over samples and offsets. The source splits the same way by Hoeffding.

**Accuracy.** h_r, what exact means lead to, has been answered within the tolerance always, not only with a probability.

**Bisection** depends on comparisons only, and another comparison leads to another threshold. Its queries are 0 or 1, so
that the probability that a sample leads to h_r is a product of binomial tails, exactly.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverify.search import least_integer
from protocols.user_level.statistical_queries import Bisection, QueryAlgorithm, RoundedQueries, rounded_answer
from protocols.validation import check_integer, check_real

__all__ = ["bisection_agreement", "enough_samples"]


def enough_samples(algorithm: QueryAlgorithm, unstable: float) -> int:
    """Return an m, for all queries together, at which a sample leads to h_r but for this probability.

    - algorithm: What asks.
    - unstable: In (0, 1): over samples and public randomness; `(1 - eta)(1 - nu)` makes the learner (eta, nu)-stable.
    """
    check_real("unstable", unstable, low=0.0, high=1.0, low_open=True, high_open=True)
    steps, queries = math.ceil(1.0 / algorithm.tolerance), algorithm.queries
    return queries * math.ceil((queries * steps / unstable) ** 2 * (1.0 + 1e-14))


def bisection_agreement(public: RoundedQueries, law: ArrayLike, samples: int) -> float:
    """Return the exact probability that a sample leads `Bisection` to h_r, for this public randomness.

    - public: Of a `Bisection`.
    - law (array_like, shape (domain, 2)): The probability of every point with either label.
    - samples: m, at least the number of queries.
    """
    algorithm, array = public.algorithm, np.asarray(law, dtype=np.float64)
    if not isinstance(algorithm, Bisection):
        raise TypeError(f"algorithm={algorithm!r} must be a Bisection.")
    check_integer("samples", samples, low=algorithm.queries)
    chance, asked, total = 1.0, 0, float(array.sum())

    def ask(query: np.ndarray) -> float:
        nonlocal chance, asked
        # The first queries get one example more where they cannot all have as many.
        own, offset = len(range(asked, samples, algorithm.queries)), float(public.offsets[asked])
        asked += 1
        mean = min(1.0, float((query * array).sum()) / total)

        def above(count: int) -> bool:
            return rounded_answer(count / own, public.steps, offset) > algorithm.tolerance

        below = least_integer(above, -1, own + 1) - 1  # answers grow with the count
        answer = rounded_answer(mean, public.steps, offset)
        tail = scipy.stats.binom.cdf if answer <= algorithm.tolerance else scipy.stats.binom.sf
        chance *= float(tail(below, own, mean))
        return answer

    algorithm.run(ask)
    return chance
