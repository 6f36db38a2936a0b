"""Single outcomes and far tails: faults that the cells of a G-test hide are found, and correct samples pass."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpverify.audit.results import conforms
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.bounds.rare import rare_events

POINTS = np.arange(-60, 61)
LAPLACE = DiscreteLaw.of(POINTS, 0.25 * 0.6 ** np.abs(POINTS), 1e-12)
WIDE = DiscreteLaw.of(np.arange(20_000), np.full(20_000, 1 / 20_000))
DRAWS, EACH = 50_000, 1e-4


def _p_value(law: DiscreteLaw, sample: NDArray[np.float64]) -> float:
    return conforms("conformance", law, sample, np.random.default_rng(1), EACH, 0.1).p_value


def _laplace(seed: int) -> NDArray[np.float64]:
    return LAPLACE.sample(DRAWS, np.random.default_rng(seed)).astype(np.float64)


@pytest.mark.parametrize(
    ("law", "fault"),
    [
        (LAPLACE, lambda sample: np.clip(sample, -10, 10)),
        (LAPLACE, lambda sample: np.where(np.abs(sample) == 12, 11, sample)),
        (WIDE, lambda sample: np.where(np.arange(sample.size) % 1000 == 0, 7, sample)),
    ],
    ids=["clipped", "an outcome that never comes", "noise skipped in 1 run of 1000"],
)
def test_what_cells_hide_is_found(law: DiscreteLaw, fault: object) -> None:
    sample = law.sample(DRAWS, np.random.default_rng(3)).astype(np.float64)
    assert _p_value(law, sample) > 0.01
    assert _p_value(law, fault(sample)) <= EACH  # type: ignore[operator]


def test_the_evidence_names_the_event() -> None:
    result = conforms("conformance", LAPLACE, np.clip(_laplace(4), -10, 10), np.random.default_rng(1), EACH, 0.1)
    assert "10" in result.evidence
    assert "are expected" in result.evidence


def test_rows_are_tested_outcome_by_outcome() -> None:
    law = DiscreteLaw.of(np.argwhere(np.ones((30, 30), dtype=bool)), np.full(900, 1 / 900))
    sample = law.sample(9000, np.random.default_rng(5))
    assert rare_events(law, sample)[0] > 0.01
    sample[:100] = (3, 4)
    p_value, event = rare_events(law, sample)
    assert p_value < 1e-6
    assert "[3 4]" in event


@pytest.mark.parametrize("points", [[0, 1, 2], [[0, 0], [1, 1], [2, 2]]], ids=["numbers", "rows"])
def test_no_p_value_comes_oftener_than_it_says(points: list[object]) -> None:
    # Over all samples of 20: half of the p-value would come 1.7 times as often as it says.
    law, found = DiscreteLaw.of(points, np.full(3, 1 / 3)), []
    for ones, twos in itertools.product(range(21), repeat=2):
        if ones + twos <= 20:
            counts = [20 - ones - twos, ones, twos]
            p_value, _ = rare_events(law, np.repeat(law.points, counts, axis=0))
            found.append((p_value, stats.multinomial.pmf(counts, 20, np.full(3, 1 / 3))))
    p_values, chances = np.array(sorted(found)).T
    reached = np.searchsorted(p_values, p_values * (1.0 + 1e-9), side="right")
    oftener = np.cumsum(chances)[reached - 1] / p_values
    assert 0.5 < oftener[p_values < 1.0].max() <= 1.0
