"""What is true of `protocols.user_level.stable_learner`: how stable, and how accurate, and from which samples on.

Let P be the law exp(-gamma err_D) on the hypotheses H, P^ the same of a sample's errors, and h_r what the clocks draw
from P: the hypothesis that depends on the public randomness and the law D of the examples alone.

**Stability.** Where all errors of the sample are within t of the law's, the odds of any two hypotheses move by a factor
of at most e^(2 gamma t), so that `d_TV(P, P^) <= tanh(gamma t / 2) <= gamma t / 2`: a tilt of range 2 gamma t moves the
probability of a set most where its odds go from e^(-gamma t) to e^(gamma t). (The source has 4 gamma t.) So, with
T = max |err_S - err_D| and correlated sampling's 2 d / (1 + d),

    Pr[A(S; r) != h_r] <= gamma E[T] <= gamma sqrt(ln(2 |H|) / (2 m)),

as each error of m examples is subgaussian with variance factor 1 / (4 m), and there are 2 |H| signs and hypotheses. By
Markov over r, if that is at most `(1 - eta)(1 - nu)`, the learner is (eta, nu)-pseudo-globally stable: for the share nu
of all r, the share eta of all samples leads to h_r.

**Accuracy.** If some hypothesis has error e or less, h_r has an error above alpha with probability at most
`(|H| - 1) e^(-gamma (alpha - e))`, whatever the law: it is drawn from P.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpverify.claims.user_level.correlated_sampling import disagreement
from dpverify.guarantee import CapacityError
from protocols.classes.frozen import dataclass
from protocols.user_level.stable_learner import WeighedHypotheses, WeighingLearner
from protocols.validation import check_generator, check_integer, check_real

__all__ = [
    "MeasuredStability",
    "agreement",
    "enough_samples",
    "enough_sharpness",
    "mean_disagreement",
    "measured_stability",
    "sample_counts",
]

_MOST_SAMPLES = 400_000
"""How many different samples are listed at most."""


def enough_sharpness(hypotheses: int, alpha: float, failure: float, *, reached: float | None = None) -> float:
    """Return a gamma at which h_r has error alpha or less but for a probability.

    - hypotheses: The number of hypotheses, at least 2.
    - alpha, failure: In (0, 1).
    - reached: An error that some hypothesis has, in [0, alpha); alpha / 2 when omitted, as in the source. A class that
      represents itself reaches 0.
    """
    check_integer("hypotheses", hypotheses, low=2)
    for name, value in (("alpha", alpha), ("failure", failure)):
        check_real(name, value, low=0.0, high=1.0, low_open=True, high_open=True)
    best = 0.5 * alpha if reached is None else check_real("reached", reached, low=0.0, high=alpha, high_open=True)
    return math.log((hypotheses - 1) / failure) / (alpha - best) * (1.0 + 1e-14)


def enough_samples(hypotheses: int, sharpness: float, unstable: float) -> int:
    """Return an m at which a sample leads to another hypothesis than h_r with at most this probability.

    - hypotheses: The number of hypotheses, at least 1.
    - sharpness: gamma.
    - unstable: In (0, 1): over samples and public randomness; `(1 - eta)(1 - nu)` makes the learner (eta, nu)-stable.
    """
    check_integer("hypotheses", hypotheses, low=1)
    check_real("sharpness", sharpness, low=0.0, low_open=True)
    check_real("unstable", unstable, low=0.0, high=1.0, low_open=True, high_open=True)
    return math.ceil(math.log(2 * hypotheses) / 2.0 * (sharpness / unstable) ** 2 * (1.0 + 1e-14))


def _law(law: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(law, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"law has shape {array.shape}, but must have shape (domain, 2).")
    if not ((array >= 0.0).all() and math.isclose(float(array.sum()), 1.0, rel_tol=0.0, abs_tol=1e-9)):
        raise ValueError("law must hold probabilities in [0, 1] that sum to 1.")
    return array


def sample_counts(law: ArrayLike, samples: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all samples of a law of examples, as counts, and their probabilities.

    - law (array_like, shape (domain, 2)): The probability of every point with either label.
    - samples: m, at least 1.

    Returns counts: ndarray of int64, shape (different samples, domain, 2). Returns masses: ndarray of float64, shape
    (different samples,). Raises CapacityError if there are too many to list.
    """
    array, m = _law(law), check_integer("samples", samples, low=1)
    cells = np.flatnonzero(array.ravel())
    if math.comb(m + cells.size - 1, cells.size - 1) > _MOST_SAMPLES:
        raise CapacityError(f"samples={m} of {cells.size} different examples are too many to list; simulate instead.")
    # A sample as where the bars stand between its stars.
    placed = list(itertools.combinations(range(m + cells.size - 1), cells.size - 1))
    bars = np.array(placed, dtype=np.int64).reshape(len(placed), cells.size - 1)
    ends = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), m + cells.size - 1)])
    stars = np.diff(ends, axis=1) - 1
    counts = np.zeros((len(stars), array.size), dtype=np.int64)
    counts[:, cells] = stars
    logs = (
        scipy.special.gammaln(m + 1)
        - scipy.special.gammaln(stars + 1).sum(axis=1)
        + stars @ np.log(array.ravel()[cells])
    )
    return counts.reshape(-1, *array.shape), np.exp(logs)


def agreement(public: WeighedHypotheses, law: ArrayLike, samples: int) -> float:
    """Return, by enumeration, the probability that a sample leads to h_r, for this public randomness."""
    counts, masses = sample_counts(law, samples)
    return float(masses @ (public.learn_counts(counts) == public.learn_counts(_law(law))))


def mean_disagreement(public: WeighedHypotheses, law: ArrayLike, samples: int) -> float:
    """Return, by enumeration, the probability over clocks and samples that a sample does not lead to h_r.

    For the hypotheses of `public`, whose own clocks do not matter.
    """

    def weighed(counts: ArrayLike) -> NDArray[np.float64]:
        errors = public.errors(counts)
        weights = np.exp(-public.sharpness * (errors - errors.min(axis=-1, keepdims=True)))
        return np.asarray(weights / weights.sum(axis=-1, keepdims=True))

    counts, masses = sample_counts(law, samples)
    true = weighed(_law(law))
    return sum(
        float(masses[part] @ disagreement(weighed(counts[part]), true)) for part in _parts(len(masses), true.size**2)
    )


def _parts(rows: int, width: int) -> Iterator[slice]:
    step = max(1, 2_000_000 // width)
    return (slice(start, start + step) for start in range(0, rows, step))


@dataclass(frozen=True, eq=False)
class MeasuredStability:
    """What a simulation found, by public randomness.

    - agreements (ndarray of int64, shape (draws,)): In how many of the trials the sample led to h_r.
    - errors (ndarray of float64, shape (draws,)): The error of h_r on the law of the examples.
    - trials: Samples per draw of the public randomness.
    """

    agreements: NDArray[np.int64]
    errors: NDArray[np.float64]
    trials: int

    @property
    def disagreement(self) -> float:
        """The share of samples that did not lead to h_r: an estimate."""
        return 1.0 - float(self.agreements.mean()) / self.trials

    def unstable(self, eta: float) -> float:
        """Return the share of draws of which less than the share eta of the samples led to h_r: an estimate."""
        return float((self.agreements < check_real("eta", eta, low=0.0, high=1.0) * self.trials).mean())


def measured_stability(
    learner: WeighingLearner, law: ArrayLike, samples: int, rng: np.random.Generator, *, draws: int, trials: int
) -> MeasuredStability:
    """Simulate Algorithm 3 on samples of a law of examples, for many draws of the public randomness.

    - law (array_like, shape (domain, 2)): The probability of every point with either label.
    - samples: m, at least 1.
    - rng: The randomness of everything.
    - draws, trials: How often the public randomness is drawn, and how many samples for each.
    """
    array = _law(law)
    for name, value in (("samples", samples), ("draws", draws), ("trials", trials)):
        check_integer(name, value, low=1)
    check_generator("rng", rng)
    agreements, errors = np.zeros(draws, dtype=np.int64), np.zeros(draws)
    for draw in range(draws):
        public = learner.drawn(rng)
        stable = int(public.learn_counts(array))
        counts = rng.multinomial(samples, array.ravel() / array.sum(), trials).reshape(trials, *array.shape)
        agreements[draw] = (public.learn_counts(counts) == stable).sum()
        errors[draw] = public.errors(array)[stable]
    return MeasuredStability(agreements, errors, trials)
