import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from dpverify.laws import noise as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.window import IntegerLaw
from dpverify.privacy_loss.losses import pairs
from dpverify.statistics.loss import LossLaw
from tests.samples import FALSE_ALARM


def shifted(law: IntegerLaw) -> LossLaw:
    zero = DiscreteLaw.from_integer_law(law)
    return LossLaw(DiscreteLaw(zero.points + 1, zero.pmf.copy(), zero.outside), zero)


POISSON = shifted(laws.poisson(5.0))


def test_losses_are_those_of_the_exact_engine() -> None:
    loss, engine = POISSON.losses, pairs.poisson(5.0).up
    # The last outcome is beyond the window of the second law: its loss is finite, but in no table of both laws.
    assert loss[-1] == math.inf
    assert (np.diff(loss) > 0.0).all()
    assert_allclose(loss[:-1], engine.losses[:-1], atol=1e-9)
    assert_allclose(POISSON.first.pmf, engine.masses, rtol=1e-12)


def test_equal_losses_share_a_bin() -> None:
    laplace = shifted(laws.discrete_laplace(0.5, 1e-18))
    # Beyond the window of the other law a loss counts as infinite, with a mass of 1e-18.
    assert set(laplace.losses) == {-0.5, 0.5, math.inf}
    assert_allclose(laplace.bins(1000).probabilities, [1 / (1 + math.exp(0.5)), 1 / (1 + math.exp(-0.5))], rtol=1e-9)


def test_rows_cover_the_exact_distribution_all_at_once() -> None:
    rng, missed = np.random.default_rng(52), 0
    for _ in range(300):
        rows = POISSON.rows(POISSON.first.sample(300, rng), 0.05)
        missed += any(not row["lower"] <= row["exact"] <= row["upper"] for row in rows)
        assert all(row["lower"] <= row["empirical"] <= row["upper"] for row in rows)
    assert missed <= stats.binom.isf(FALSE_ALARM, 300, 0.05)
    assert [row["loss"] for row in rows] == sorted({row["loss"] for row in rows})
    assert rows[0]["exact"] == pytest.approx(1.0)
    at_least = POISSON.first.pmf[POISSON.losses >= rows[7]["loss"]].sum()
    assert rows[7]["exact"] == pytest.approx(at_least, rel=1e-12)
