"""The band of a trade-off curve covers both errors of every test at once."""

import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.bounds.claim_test import LowerCurve, event_limits
from dpverify.statistics.bounds.tradeoff_band import TradeoffBand, counted_above, tradeoff_thresholds


def band_of(thresholds: np.ndarray, first: np.ndarray, second: np.ndarray, level: float) -> TradeoffBand:
    # Counted in two parts, as where outputs come in blocks.
    above = [sum(counted_above(thresholds, part) for part in (x[:100], x[100:])) for x in (first, second)]
    return TradeoffBand(event_limits(above[0], above[1], len(first), level))


def test_the_band_covers_the_errors_of_a_gaussian() -> None:
    rng = np.random.default_rng(2)
    missed = 0
    for _ in range(100):
        first, second = rng.normal(1, 1, 2_000), rng.normal(0, 1, 2_000)
        thresholds = tradeoff_thresholds(first[:400], second[:400])
        band = band_of(thresholds, first[400:], second[400:], 0.2)
        p, q = stats.norm.sf(thresholds - 1), stats.norm.sf(thresholds)
        limits = band.limits
        inside = (limits.p_lower <= p) & (p <= limits.p_upper) & (limits.q_lower <= q) & (q <= limits.q_upper)
        missed += not inside.all()
        if inside.all():
            assert band.lower.mu() <= 1.0
    assert missed <= stats.binom.isf(1e-6, 100, 0.2)


def test_the_figures_of_a_curve() -> None:
    curve = LowerCurve(np.array([0.5, 0.8]), np.array([0.2, 0.6]), 0.01)
    assert curve.mu() == pytest.approx(stats.norm.ppf(0.5) - stats.norm.ppf(0.2))
    two = 0.5**2 / 0.2 + 0.5**2 / 0.8
    assert curve.renyi(2.0) == pytest.approx(np.log(two))
    certain = LowerCurve(np.array([1.0]), np.array([0.25]), 0.01)
    assert certain.renyi(3.0) == pytest.approx(np.log(4))
    nothing = LowerCurve(np.array([0.1]), np.array([0.3]), 0.01)
    assert nothing.mu() == nothing.renyi(2.0) == 0.0
    with pytest.raises(ValueError, match="order=1"):
        curve.renyi(1.0)


def test_rows_go_along_the_curve() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(1, 1, 2_000), rng.normal(0, 1, 2_000)
    rows = band_of(tradeoff_thresholds(first, second), first, second, 0.1).rows()
    positives = [row["false_positive_lower"] for row in rows]
    negatives = [row["false_negative_lower"] for row in rows]
    assert positives == sorted(positives, reverse=True)
    assert negatives == sorted(negatives)


def test_the_scan_goes_from_end_to_end_and_is_close_where_delta_is_spent() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.normal(1, 1, 40_000), rng.normal(0, 1, 40_000)
    found = tradeoff_thresholds(first, second, 1e-3)
    assert found[0] < min(first.min(), second.min()) <= found[1]
    assert found[-1] == max(first.max(), second.max())
    # Gaussian privacy with mu = 1: the best of these events shows next to all that any event does.
    for delta in (1e-3, 0.05):
        at = tradeoff_thresholds(first, second, delta)
        dense = np.linspace(-6, 6, 100_001)
        shown = [np.log(np.maximum(stats.norm.sf(t - 1) - delta, 1e-300) / stats.norm.sf(t)).max() for t in (at, dense)]
        assert shown[1] - 0.01 < shown[0] <= shown[1]
