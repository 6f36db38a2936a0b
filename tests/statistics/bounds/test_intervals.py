import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpverify.statistics.bounds.intervals import clopper_pearson, lower_limit, upper_limit


@pytest.mark.parametrize("trials", [1, 7, 40])
@pytest.mark.parametrize("level", [0.3, 0.05, 1e-4])
def test_coverage_is_nominal_for_every_probability(trials: int, level: float) -> None:
    # Exact, by summing over all outcomes; just beside each limit, where coverage is lowest.
    x = np.arange(trials + 1)
    lower, upper = clopper_pearson(x, trials, level)
    edges = np.concatenate([lower, upper])
    for p in np.unique(np.clip(np.concatenate([edges - 1e-9, edges, edges + 1e-9, [0.0, 1.0]]), 0.0, 1.0)):
        missed = stats.binom.pmf(x, trials, p)[(p < lower) | (p > upper)].sum()
        assert missed <= level * (1.0 + 1e-9)
        for one_sided in (p < lower_limit(x, trials, level), p > upper_limit(x, trials, level)):
            assert stats.binom.pmf(x, trials, p)[one_sided].sum() <= level * (1.0 + 1e-9)


def test_limits_are_no_wider_than_the_level_asks() -> None:
    x = np.arange(1, 1000, 37)
    assert_allclose(stats.binom.sf(x - 1, 1000, lower_limit(x, 1000, 0.01)), 0.01, rtol=1e-8)
    assert_allclose(stats.binom.cdf(x, 1000, upper_limit(x, 1000, 0.01)), 0.01, rtol=1e-8)
    assert upper_limit(0, 50, 0.05) == pytest.approx(1.0 - 0.05 ** (1 / 50), rel=1e-9)
    assert (lower_limit(0, 50, 0.05), upper_limit(50, 50, 0.05)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("successes", "trials", "level", "error", "message"),
    [
        (5, 4, 0.1, ValueError, r"^successes=5 must be in \[0, 4\]\.$"),
        (0.5, 4, 0.1, TypeError, r"^successes has dtype float64"),
        (1, 0, 0.1, ValueError, r"^trials=0 must be an integer in \[1, inf\)\.$"),
        (1, 4, 0.0, ValueError, r"^level=0\.0 must be a finite number in \(0, 1\)\.$"),
    ],
)
def test_bad_input(successes: float, trials: int, level: float, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        clopper_pearson(successes, trials, level)
