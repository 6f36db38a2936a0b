import numpy as np
import pytest
from scipy import stats

from dpverify.statistics.error import ErrorClaim, ErrorNull
from tests.refusals import refused
from tests.samples import FALSE_ALARM

MIXING = np.array([[3.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.5, 0.5, 0.2]])
BIAS = np.array([0.0, 0.5, 0.0])
CLAIM = ErrorClaim(lambda rng: draw(rng), np.sqrt(2.0 * (MIXING**2).sum(axis=1) + BIAS**2), BIAS)


def draw(rng: np.random.Generator, scale: float = 1.0, shift: float = 0.0, trials: int = 60) -> np.ndarray:
    """Errors of three queries that share their Laplace noise."""
    return scale * (rng.laplace(size=(trials, 3)) @ MIXING.T + BIAS) + shift


def test_the_level_is_exact() -> None:
    rng, audits = np.random.default_rng(41), 400
    rejected = np.zeros(2, dtype=int)
    for _ in range(audits):
        null, errors = ErrorNull(CLAIM, rng, simulations=19), draw(rng)
        results = (null.test_rmse(errors, level=0.05), null.test_bias(errors, level=0.05))
        rejected += [result.p_value <= 0.05 for result in results]
    low, high = stats.binom.ppf(FALSE_ALARM / 4, audits, 0.05), stats.binom.isf(FALSE_ALARM / 4, audits, 0.05)
    assert ((low <= rejected) & (rejected <= high)).all()


def test_errors_of_scale_and_bias_are_caught_with_the_stated_power() -> None:
    rng = np.random.default_rng(42)
    null = ErrorNull(CLAIM, rng, simulations=499)
    stated = null.test_rmse(draw(rng), level=0.05, fault=0.5).power
    caught = np.mean([null.test_rmse(draw(rng, scale=1.5), level=0.05).p_value <= 0.05 for _ in range(1000)])
    assert stated == pytest.approx(caught, abs=0.1)  # 499 and 1000 simulations: 4.5 standard deviations at the worst
    assert null.test_rmse(draw(rng, scale=0.3), level=0.05).p_value == 1 / 500
    assert null.test_bias(draw(rng, shift=3.0), level=0.05).p_value == 1 / 500
    stated = null.test_bias(draw(rng), level=0.05, fault=0.4).power
    shift = 0.4 * CLAIM.deviation
    caught = np.mean([null.test_bias(draw(rng) + shift, level=0.05).p_value <= 0.05 for _ in range(1000)])
    assert stated == pytest.approx(caught, abs=0.1)


def test_bands_cover_all_queries_at_once() -> None:
    # Another scale and location than claimed: the bands' pivots do not know either.
    rng, audits, missed = np.random.default_rng(43), 400, np.zeros(2, dtype=int)
    shift = np.array([0.0, -0.7, 0.2])
    for _ in range(audits):
        null = ErrorNull(CLAIM, rng, simulations=39)
        scaled, shifted = (null.bands(errors, 0.1) for errors in (draw(rng, scale=1.7), draw(rng) + shift))
        rmse, bias = 1.7 * CLAIM.rmse, BIAS + shift
        missed[0] += not ((scaled.rmse_lower <= rmse) & (rmse <= scaled.rmse_upper)).all()
        missed[1] += not ((shifted.bias_lower <= bias) & (bias <= shifted.bias_upper)).all()
    assert (missed <= stats.binom.isf(FALSE_ALARM / 2, audits, 0.05)).all()
    # Bands that never miss would be too wide.
    assert (missed > 0).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("offset", [0.0, 0.1, 0.3, 1e-9, -12345.678])
def test_errors_without_any_spread_have_bands(offset: float) -> None:
    bands = ErrorNull(CLAIM, np.random.default_rng(44), simulations=39).bands(np.full((60, 3), offset), 0.1)
    assert bands.bias_lower == pytest.approx(offset, rel=1e-12)
    assert bands.bias_upper == pytest.approx(offset, rel=1e-12)
    assert ((bands.rmse_lower <= abs(offset)) & (abs(offset) <= bands.rmse_upper)).all()


@pytest.mark.filterwarnings("error")
def test_simulations_without_any_spread_give_no_band() -> None:
    rare = ErrorClaim(lambda rng: (rng.random((4, 1)) < 0.01).astype(float), np.array([0.1]), np.array([0.01]))
    null = ErrorNull(rare, np.random.default_rng(45), simulations=39)
    with refused("trials=4"):
        null.bands(np.zeros((4, 1)), 0.1)


def test_bad_input() -> None:
    null = ErrorNull(CLAIM, np.random.default_rng(1), simulations=19)
    with pytest.raises(ValueError, match=r"^errors has shape \(5, 2\), but must have shape \(60, 3\)\.$"):
        null.test_rmse(np.zeros((5, 2)), level=0.05)
    with refused("errors"):
        null.test_bias(np.full((60, 3), np.nan), level=0.05)
    with refused("simulations=19"):
        null.bands(draw(np.random.default_rng(2)), 0.01)
    with refused("rmse"):
        ErrorClaim(draw, np.ones(1), np.ones(1))


@pytest.mark.parametrize(
    ("simulations", "level", "rank"), [(20, 0.05, 20), (19, 0.05, 19), (39, 0.05, 38), (9, 0.3, 7)]
)
def test_a_further_simulation_exceeds_the_critical_value_as_rarely_as_said(
    simulations: int, level: float, rank: int
) -> None:
    # Of so many and one that are exchangeable, the further one is above the r-th of the others by chance 1 - r/(k+1).
    null = ErrorNull(CLAIM, np.random.default_rng(1), simulations=19)
    assert null._critical(np.arange(1.0, simulations + 1.0), level) == rank
    assert 1.0 - rank / (simulations + 1) <= level + 1e-12 < 1.0 - (rank - 1) / (simulations + 1)
    assert null._critical(np.arange(1.0, 10.0), 0.05) == np.inf
