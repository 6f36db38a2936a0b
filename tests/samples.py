"""Comparisons of samples with laws, with a stated false-alarm rate."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6
"""The largest probability that a correct implementation fails one of these assertions, over the choice of its seed."""


def rows(array: np.ndarray) -> list[tuple[int, ...]]:
    """The rows of an integer array as tuples, to be counted."""
    return [*zip(*array.T.tolist(), strict=True)]


def sphere(count: int, dimension: int, seed: int) -> np.ndarray:
    """Random vectors of norm 1, shape (count, dimension)."""
    vectors = np.random.default_rng(seed).normal(size=(count, dimension))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def assert_same_law(first: Sequence[Hashable], second: Sequence[Hashable]) -> None:
    """Two independent samples have one law: an exact test of each value's count, Bonferroni over the values.

    Of as many as both have of a value, those of the first are hypergeometric. Rare values are pooled by their pooled
    count, which the tests condition on.
    """
    counts, others = Counter(first), Counter(second)
    common = [value for value, count in (counts + others).items() if count >= 20]
    cells = [(counts[value], others[value]) for value in common]
    cells.append((len(first) - sum(a for a, _ in cells), len(second) - sum(b for _, b in cells)))
    seen, whole = np.array([a for a, _ in cells]), np.array([a + b for a, b in cells])
    law = stats.hypergeom(len(first) + len(second), whole, len(first))
    p_values = 2.0 * np.minimum(law.cdf(seen), law.sf(seen - 1))
    worst = int(np.argmin(p_values))
    assert p_values[worst] > FALSE_ALARM / len(cells), (*cells[worst], p_values[worst])


def assert_law(sample: Sequence[Hashable], pmf: Mapping[Hashable, float]) -> None:
    """A sample has the law `pmf`: an exact binomial test of each value's count, Bonferroni over the values."""
    assert math.isclose(sum(pmf.values()), 1.0, rel_tol=1e-12)
    counts = Counter(sample)
    assert set(counts) <= {value for value, probability in pmf.items() if probability > 0}
    seen = np.array([counts[value] for value in pmf])
    law = stats.binom(len(sample), np.minimum(1.0, [*pmf.values()]))
    p_values = 2.0 * np.minimum(law.cdf(seen), law.sf(seen - 1))
    worst = int(np.argmin(p_values))
    assert p_values[worst] > FALSE_ALARM / len(pmf), ([*pmf][worst], seen[worst] / len(sample), p_values[worst])


def assert_mean(sample: np.ndarray, mean: float | np.ndarray, variance: float | None = None) -> None:
    """The sample (first axis) has this mean: a z-test per entry, Bonferroni, with the given or the sample variance.

    As exact as the central limit theorem is for the sample: use it for thousands of draws of light-tailed numbers.
    """
    values = np.asarray(sample, dtype=np.float64)
    error = np.abs(values.mean(axis=0) - mean)
    spread = values.std(axis=0, ddof=1) if variance is None else math.sqrt(variance)
    threshold = stats.norm.isf(FALSE_ALARM / 2 / max(1, error.size))
    # The second term is the rounding error of the mean, all that is left where the spread is zero.
    scale = 1e-12 * (1.0 + np.abs(values).max())
    assert np.all(error <= threshold * spread / math.sqrt(len(values)) + scale), np.max(error)


def assert_variance(sample: np.ndarray, mean: float, variance: float) -> None:
    """The sample has this variance about the known mean: `assert_mean` of the squared deviations."""
    assert_mean((np.asarray(sample) - mean) ** 2, variance)
