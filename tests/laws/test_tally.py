"""A tally in pieces is the tally of all samples, and tests take it for the samples themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dpverify.audit.results import conforms
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.tally import Tally
from dpverify.statistics.conformance import choose_bins, g_test
from dpverify.statistics.loss import LossLaw

FAIR = DiscreteLaw.of(np.arange(1, 7), np.full(6, 1 / 6))
LOADED = DiscreteLaw.of(np.arange(1, 7), np.array([0.1, 0.15, 0.15, 0.2, 0.2, 0.2]))


def _in_pieces(law: DiscreteLaw, samples: np.ndarray) -> Tally:
    tally = Tally(law)
    for piece in np.array_split(samples, 7):
        tally.update(piece)
    return tally


def test_pieces_add_up() -> None:
    samples = np.random.default_rng(1).integers(1, 9, 1000).astype(float)  # 7 and 8 are not listed
    tally = _in_pieces(FAIR, samples)
    assert_array_equal(tally.counts, FAIR.counts(samples))
    assert tally.trials == 1000
    assert tally.counts[-1] == np.count_nonzero(samples > 6)
    assert_allclose([tally.mean, tally.deviation], [samples.mean(), samples.std()], rtol=1e-12)


def test_the_spread_keeps_its_digits_far_from_zero() -> None:
    law = DiscreteLaw.of(1e9 + np.arange(3), [0.25, 0.5, 0.25])
    samples = law.sample(5000, np.random.default_rng(2))
    assert_allclose(_in_pieces(law, samples).deviation, samples.std(), rtol=1e-9)


def test_rows_are_counted_too() -> None:
    law = DiscreteLaw.of([[0, 0], [0, 1], [1, 0]], [0.5, 0.25, 0.25])
    rows = np.random.default_rng(3).integers(0, 2, (300, 2))
    assert_array_equal(_in_pieces(law, rows).counts, law.counts(rows))


def test_tests_of_a_tally_are_those_of_its_samples() -> None:
    samples = LOADED.sample(2000, np.random.default_rng(4))
    tally = _in_pieces(FAIR, samples)
    losses = LossLaw(FAIR, LOADED)
    for test in (
        lambda x: g_test(x, choose_bins(FAIR, 2000), np.random.default_rng(5), simulations=99),
        lambda x: conforms("a die", FAIR, x, np.random.default_rng(5), 1e-2, 0.2),
        lambda x: losses.rows(x, 0.05),
    ):
        assert test(samples) == test(tally)


def test_the_tally_of_another_law_is_refused() -> None:
    with pytest.raises(ValueError, match="counted by another law"):
        Tally.of(FAIR, Tally(LOADED))
    assert Tally.of(FAIR, tally := Tally(FAIR)) is tally
