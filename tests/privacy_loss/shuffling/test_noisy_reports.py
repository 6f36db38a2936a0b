from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpverify.privacy_loss.shuffling.amplification import pure
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.privacy_loss.shuffling.noisy_reports import noisy_reports
from tests.privacy_loss.shuffled_views import divergence, rationals

NOISES = [
    (1.0, 1.0, stats.laplace(scale=1.0)),
    (math.sqrt(8.0), 2.0, stats.norm(scale=2.0)),
    (4.0, 4.0, stats.gennorm(4.0, scale=4.0)),
]


@pytest.mark.parametrize(("scale", "power", "noise"), NOISES[:2], ids=["laplace", "normal"])
def test_a_coarse_look_at_few_reports_is_within(scale: float, power: float, noise: stats.rv_frozen) -> None:
    """Reports told in five cells only, every dataset of three users: no more than the upper end."""
    found = noisy_reports(scale, power, 3, cells=60)
    edges = [-math.inf, 0.0, 0.5, 1.0, 1.7, math.inf]
    zero, one = (rationals(np.diff(noise.cdf(np.array(edges) - shift))) for shift in (0.0, 1.0))
    for epsilon in (0.0, 0.3):
        upper = found.delta(epsilon).upper
        for crowd in ([zero, zero], [zero, one], [one, one]):
            assert divergence([zero, *crowd], [one, *crowd], epsilon) <= upper


@pytest.mark.parametrize(("scale", "power", "noise"), NOISES, ids=["laplace", "normal", "fourth power"])
@pytest.mark.parametrize("users", [2, 3])
def test_inputs_anywhere_in_the_interval_are_within(
    scale: float, power: float, noise: stats.rv_frozen, users: int
) -> None:
    """Reports told in five cells only, every pair and crowd of a grid of inputs: no more than the upper end."""
    upper = noisy_reports(scale, power, users, cells=40).delta(0.1).upper
    edges = np.array([-math.inf, -0.3, 0.4, 0.6, 1.3, math.inf])
    laws = [rationals(np.diff(noise.cdf(edges - value))) for value in np.linspace(0.0, 1.0, 6 - users)]
    found = [
        divergence([x, *crowd], [y, *crowd], 0.1)
        for x, y in itertools.permutations(laws, 2)
        for crowd in itertools.combinations_with_replacement(laws, users - 1)
    ]
    assert 0.0 < max(found) <= upper


@pytest.mark.parametrize(("scale", "power", "noise"), NOISES[:2], ids=["laplace", "normal"])
def test_no_pair_of_inputs_is_worse_among_the_blanket_than_the_ends(
    scale: float, power: float, noise: stats.rv_frozen
) -> None:
    """Reports told in cells, among ten thousand that have the blanket's law."""
    upper = noisy_reports(scale, power, 10**4, tail=1e-7, cells=40).covers[0][0].delta(0.02).upper
    edges = np.concatenate([[-math.inf], np.linspace(-3.5, 4.5, 33), [math.inf]])
    laws = {value: np.diff(noise.cdf(edges - value)) for value in np.linspace(0.0, 1.0, 5)}
    blanket = np.minimum(laws[0.0], laws[1.0])
    found = {
        pair: HiddenReport(10**4, blanket, laws[pair[0]], laws[pair[1]], smoothing=2e-3).delta(0.02).lower
        for pair in itertools.permutations(laws, 2)
    }
    worst = max(found, key=lambda pair: found[pair])
    assert worst in ((0.0, 1.0), (1.0, 0.0))
    assert 0.5 * upper < found[worst] <= upper


@pytest.mark.parametrize(("scale", "power", "noise"), NOISES, ids=["laplace", "normal", "fourth power"])
def test_a_finer_look_narrows_the_bounds(scale: float, power: float, noise: stats.rv_frozen) -> None:
    coarse, fine = (noisy_reports(scale, power, 1, cells=cells) for cells in (12, 100))
    total = 2.0 * noise.cdf(0.5) - 1.0
    for made in (coarse, fine):
        assert made.delta(0.0).lower <= total <= made.delta(0.0).upper
        assert made.covers[0][0].others.sum() == pytest.approx(2.0 * noise.sf(0.5), abs=1e-9)
    assert fine.delta(0.2).lower >= coarse.delta(0.2).lower
    assert fine.delta(0.2).upper <= coarse.delta(0.2).upper * (1.0 + 1e-9)
    # One user: the divergence of the two reports themselves, by quadrature on a fine grid.
    y = np.linspace(-16.0, 17.0, 400_001)
    direct = np.sum(np.maximum(noise.pdf(y) - math.exp(0.2) * noise.pdf(y - 1.0), 0.0)) * (y[1] - y[0])
    assert fine.delta(0.2).lower <= direct * (1.0 + 1e-4)
    assert fine.delta(0.2).upper >= direct * (1.0 - 1e-4)


def test_many_normal_reports_hide_each_other_though_none_is_private() -> None:
    found = noisy_reports(2.0 * math.sqrt(2.0), 2.0, 10**4, cells=60).epsilon(1e-6)
    assert 0.0169 < found.lower < found.upper < 0.0206


@pytest.mark.long
@pytest.mark.parametrize(
    ("scale", "power", "users", "least", "most"),
    [
        (math.sqrt(2.0), 2.0, 10, 2.57, 3.15),
        (math.sqrt(2.0), 2.0, 100, 0.48, 0.94),
        (math.sqrt(8.0), 2.0, 40, 0.337, 0.399),
        (4.0, 4.0, 10**5, 0.0061, 0.0097),
    ],
)
def test_few_reports_of_unbounded_noise_hide_each_other(
    scale: float, power: float, users: int, least: float, most: float
) -> None:
    """Rare reports with ratios of thousands decide, where a contour has no saddle point to speak of."""
    found = noisy_reports(scale, power, users, tail=1e-10, cells=60).epsilon(1e-6)
    assert least < found.lower < found.upper < most


def test_laplace_reports_hide_better_than_the_worst_of_their_class() -> None:
    curve = noisy_reports(0.5, 1.0, 10**4)
    found = curve.epsilon(1e-6)
    assert curve.covers[0][0].missing == 0.0
    assert found.upper < pure(2.0, 10**4).epsilon(1e-6).upper


def test_what_hardly_hides_has_the_bound_of_one_report_alone() -> None:
    alone, many = (noisy_reports(0.4, 2.0, users, cells=20).epsilon(1e-6) for users in (1, 100))
    assert 0.0 < many.lower < many.upper <= alone.upper * (1.0 + 1e-9) < 30.0


@pytest.mark.parametrize(("scale", "power"), [(0.6, 10.0), (0.36, 4.0), (0.07, 2.0)])
def test_reports_whose_density_is_no_float_are_seen(scale: float, power: float) -> None:
    """Her likely reports have a density below 1e-308 under the other input: nothing may be lost of them."""
    found = noisy_reports(scale, power, 1)
    pair = found.covers[0][0]
    for law in (pair.first, pair.second):
        assert float(law.sum()) + pair.missing >= 1.0 - 1e-12
    noise = stats.gennorm(power, scale=scale)
    epsilon = 20.0
    crossing = optimize.brentq(lambda y: noise.logpdf(y) - noise.logpdf(y - 1.0) - epsilon, 0.0, 0.5)
    truth = noise.cdf(crossing) - math.exp(epsilon) * noise.cdf(crossing - 1.0)
    assert found.delta(epsilon).lower <= truth <= found.delta(epsilon).upper + 1e-12
    assert found.delta(epsilon).upper <= min(truth + 1e-2 + pair.missing, 1.0)


def test_bad_arguments_are_told() -> None:
    with pytest.raises(ValueError, match="power=0"):
        noisy_reports(1.0, 0.5, 10)
    with pytest.raises(ValueError, match="scale=0"):
        noisy_reports(0.0, 1.0, 10)
    with pytest.raises(ValueError, match="hides nothing"):
        noisy_reports(0.03, 2.0, 10)
