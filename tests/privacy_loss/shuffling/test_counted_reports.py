from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpverify.privacy_loss.composing.family import FamilyComposition
from dpverify.privacy_loss.shuffling.amplification import randomized_response, reports
from dpverify.privacy_loss.shuffling.counted_reports import counted_reports
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from tests.privacy_loss.shuffled_views import divergence, rationals


def hidden(users: int, others: list[float], first: list[float], second: list[float]) -> HiddenReport:
    return HiddenReport(users, np.array(others), np.array(first), np.array(second))


@pytest.mark.parametrize("users", [1, 2, 6])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_it_is_the_count_of_one_set(users: int, epsilon: float) -> None:
    report = hidden(users, [0.25, 0.125, 0.625], [0.5, 0.25, 0.25], [0.25, 0.125, 0.625])
    found = FamilyComposition([counted_reports(report)], 1).delta(epsilon)
    told = [rationals([mass, 1.0 - mass]) for mass in (0.375, 0.75, 0.375)]
    truth = divergence([told[1], *[told[0]] * (users - 1)], [told[2], *[told[0]] * (users - 1)], epsilon)
    assert found.lower <= truth <= found.upper
    assert found.width <= 1e-9


@pytest.mark.parametrize("users", [3, 40, 10**5])
def test_it_is_no_more_than_the_view(users: int) -> None:
    (report, *_) = reports(randomized_response(1.0, 3), users).attained
    found = FamilyComposition([counted_reports(report)], 1).epsilon(1e-5)
    most = report.epsilon(1e-5).upper
    assert 0.6 * most < found.lower <= most


@pytest.mark.parametrize("epsilon0", [20.0, 40.0])
def test_reports_that_hardly_hide_are_no_obstacle(epsilon0: float) -> None:
    """Her report is in the set with probability 1 but for rounding."""
    (report, *_) = reports(randomized_response(epsilon0, 3), 50).attained
    found = FamilyComposition([counted_reports(report)], 3).epsilon(1e-6)
    assert 0.0 < found.lower <= 3.0 * epsilon0


def test_what_the_window_cuts_is_missing() -> None:
    report = hidden(1000, [0.25, 0.75], [0.5, 0.5], [0.25, 0.75])
    pair = counted_reports(report, tail=1e-3)
    whole = counted_reports(report)
    assert 1e-4 < pair.missing_mass < 4e-3
    assert float(pair.masses.sum()) + pair.missing_mass >= 1.0 - 1e-9
    # A count at the end of the window has only a part of its probability there, which would have an extreme loss.
    assert whole.losses[0] < pair.losses[0]
    assert pair.losses[-1] < whole.losses[-1] - 0.01


@pytest.mark.parametrize("sides", [(1.0, -1.0, 1.0), (-1.0, -1.0, 1.0)])
def test_errors_of_the_probabilities_are_charged(sides: tuple[float, float, float]) -> None:
    error, law = 1e-4, (0.25, 0.5, 0.375)
    report = HiddenReport(400, *(np.array([mass, 1.0 - mass]) for mass in law), error=error)
    w, a, b = (mass * (1.0 + side * error) for mass, side in zip(law, sides, strict=True))
    counts = np.arange(401)
    least, more = stats.binom.pmf(counts, 399, w), stats.binom.pmf(counts - 1, 399, w)
    gain = (1.0 - a) * least + a * more - math.exp(0.01) * ((1.0 - b) * least + b * more)
    found = FamilyComposition([counted_reports(report)], 1).delta(0.01)
    assert 0.0 < found.lower <= float(np.maximum(gain, 0.0).sum()) <= found.upper
