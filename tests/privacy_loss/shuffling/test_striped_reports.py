import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy import stats

from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.privacy_loss.shuffling.mixed_excess import mixed_excess
from dpverify.privacy_loss.shuffling.noisy_reports import noisy_reports
from dpverify.privacy_loss.shuffling.striped_reports import LineNoise, StripedReport, _Strip, striped_report
from tests.privacy_loss.shuffled_views import divergence

NOISES = {
    "laplace": (0.5, 1.0, stats.laplace(scale=0.5)),
    "normal": (2.0, 2.0, stats.norm(scale=math.sqrt(2.0))),
    "fourth power": (4.0, 4.0, stats.gennorm(4.0, scale=4.0)),
}


@functools.cache
def made(scale: float, power: float, users: int = 10**4, tail: float = 1e-8) -> StripedReport:
    with ctx.workprec(192):
        found = striped_report(LineNoise(scale, power), 9.0 * scale if power == 2.0 else 2.5 * scale, users, tail=tail)
    assert found is not None
    return found


def test_the_pool_hides_in_which_strip_a_report_is() -> None:
    """Lemma 3 in rationals: every dataset of three others, laws and strips of all kinds, shares of all sizes."""
    laws = [[Fraction(entry, 12) for entry in row] for row in ((7, 3, 2), (5, 4, 3), (3, 4, 5), (1, 4, 7))]
    strips = [[min(pair) for pair in zip(*laws[first : first + 2], strict=True)] for first in (0, 2)]
    pool = sum(min(column) for column in zip(*laws, strict=True))
    for epsilon, crowd in itertools.product((0.4,), itertools.combinations_with_replacement(range(4), 3)):
        power = Fraction(math.exp(epsilon))
        for first, second in ((0, 3), (3, 1)):
            a, b = laws[first], laws[second]
            alone = sum(max(one - power * two, Fraction(0)) for one, two in zip(a, b, strict=True))
            view = divergence([a, *(laws[x] for x in crowd)], [b, *(laws[x] for x in crowd)], epsilon)
            for share in (Fraction(1, 100), Fraction(1, 4), Fraction(3, 4)):
                excess = Fraction(0)
                for reports in itertools.product(range(4), repeat=3):
                    mass, total = Fraction(1), Fraction(0)
                    for x, report in zip(crowd, reports, strict=True):
                        blanket = [(1 - share) * entry for entry in strips[x // 2]]
                        if report < 3:
                            mass *= blanket[report]
                            total += (a[report] - power * b[report]) / blanket[report]
                        else:
                            mass *= 1 - sum(blanket)
                    excess += mass * max(total, Fraction(0))
                assert view <= excess / 3 + (1 - share * pool) ** 3 * alone


def _class_of(u: float, v: float, counts: Sequence[int]) -> int:
    """Return the number of strips that the pair is compared with."""
    return next(count for count in counts if count == 1 or (u <= 1.0 / count and v >= 1.0 - 1.0 / count))


@pytest.mark.parametrize("name", NOISES)
def test_every_pair_of_inputs_is_below_its_class_in_every_strip(name: str) -> None:
    """Lemma 4 and its cells: what exceeds t, and falls short of -t, on a fine grid of reports is no more."""
    scale, power, noise = NOISES[name]
    report = made(scale, power)
    total = (len(report.strips) + 1) // 2
    counts = [total >> j for j in range(total.bit_length())]
    strips = iter(report.strips)
    by_count = {count: [next(strips) for _ in range(count)] for count in counts}
    y = np.linspace(-9.0 * scale, 9.0 * scale + 1.0, 4001)
    places = [0.0, 1.0 / 16.0, 0.1, 0.25, 0.3, 0.5, 0.55, 0.75, 1.0 - 1.0 / 16.0, 1.0]
    laws = {x: np.diff(noise.cdf(y - x)) for x in places}
    seen = set()
    for u, v in itertools.combinations(places, 2):
        count = _class_of(u, v, counts)
        seen.add(count)
        for place, strip in enumerate(by_count[count]):
            ends = [np.diff(noise.cdf(y - (place + more) / count)) for more in (0, 1)]
            # A cell across the middle of the strip would have less than the larger of both.
            blanket = np.minimum(*ends)
            for factor in (1.0, 1.4):
                z = strip.variable(factor, 1.0)
                gains = laws[u] - factor * laws[v]
                for t in (0.0, 0.02, 0.2, 1.0):
                    for sign in (1.0, -1.0):
                        truth = float(np.sum(np.maximum(sign * gains - t * blanket, 0.0)))
                        bound = float(np.sum(z.weights * np.maximum(sign * z.values - t, 0.0)))
                        assert truth <= bound + factor * strip.missing + 1e-9
                assert float(np.sum(z.weights * z.values)) >= 1.0 - factor - strip.missing - 1e-12
                assert float(z.weights.sum()) <= 1.0
    assert seen == set(counts)


@pytest.mark.parametrize("name", NOISES)
def test_random_mixes_of_inputs_are_within(name: str) -> None:
    """Others who draw their inputs from a few at random: what Lemma 1 has for them is no more."""
    scale, power, noise = NOISES[name]
    report = made(scale, power, 3000)
    edges = np.concatenate([[-math.inf], np.linspace(-2.0 * scale, 2.0 * scale + 1.0, 61), [math.inf]])
    laws = [np.diff(noise.cdf(edges - x)) for x in (0.0, 0.5, 1.0)]
    upper, largest = report.delta(0.05).upper, 0.0
    for shares in ((1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0), (1, 1, 1)):
        others = sum(share * law for share, law in zip(shares, laws, strict=True)) / sum(shares)
        for u, v in ((0, 2), (2, 0), (1, 2)):
            largest = max(largest, HiddenReport(3000, others, laws[u], laws[v], smoothing=2e-3).delta(0.05).lower)
    assert largest <= upper
    # At the fourth power few and large values decide, which both bounds take apart.
    assert largest > 0.6 * upper or power == 4.0


@pytest.mark.parametrize(
    ("scale", "power", "users", "most"),
    [(math.sqrt(8.0), 2.0, 10**4, 1.04), (0.5, 1.0, 10**6, 1.012)],
)
def test_the_band_is_narrow(scale: float, power: float, users: int, most: float) -> None:
    found = noisy_reports(scale, power, users, tail=1e-10).epsilon(1e-6)
    assert found.lower < found.upper < most * found.lower


def test_each_of_the_others_draws_from_a_share_of_the_blanket() -> None:
    """The excess of three outcomes and forty others, by the sum over all counts, is close below."""
    masses, first, second = np.array([0.3, 0.3, 0.3]), np.array([0.5, 0.2, 0.3]), np.array([0.2, 0.5, 0.3])
    power, others, zero = math.exp(0.1), 40, {"missing": 0.0, "error": 1e-15, "alone": 0.0}
    for share in (0.5, 0.9):
        drawn = share * masses
        strips = (_Strip((masses, first, second), None, 0.0),)
        found = StripedReport(others + 1, drawn, first, second, strips=strips, share=share, **zero).delta(0.1).upper
        counts = np.array([row for row in np.ndindex((others + 1,) * 3) if sum(row) <= others])
        chances = stats.multinomial.pmf(
            np.column_stack([counts, others - counts.sum(axis=1)]), others, [*drawn, 1.0 - drawn.sum()]
        )
        exact = float(chances @ np.maximum(counts @ ((first - power * second) / drawn), 0.0)) / others
        assert exact <= found <= 1.04 * exact
        # One more would tell less, by no more than the bound is loose here.
        assert found >= mixed_excess([strips[0].variable(power, share)], others) / others


def test_nobody_to_take_her_place_is_charged() -> None:
    """Far out, where no excess is left, the bound is what is left of her own report, and of what is cut."""
    report = made(2.0, 2.0, 10**4, tail=1e-3)
    assert report.alone >= 1e-3
    hidden = 2.0 * NOISES["normal"][2].sf(0.5)
    assert (1.0 - (1.0 - report.share) * hidden) ** (10**4 - 1) <= report.alone
    assert (
        report.delta(0.2).upper >= 1e-3 * HiddenReport(1, report.others, report.first, report.second).delta(0.2).lower
    )


@pytest.mark.parametrize("scale", [8.0, *(pytest.param(each, marks=pytest.mark.long) for each in (12.0, 30.0)), 50.0])
def test_wide_noise_has_few_strips(scale: float) -> None:
    """Up to one, of all of [0, 1]: less than the blanket alone for the pool, and never below the dataset's."""
    report = made(scale, 2.0, 10**5)
    one = noisy_reports(scale, 2.0, 10**5)
    assert len(report.strips) in (1, 3, 7)
    assert one.epsilon(1e-6).lower < report.epsilon(1e-6).upper < 1.1 * one.epsilon(1e-6).upper


def test_too_few_users_have_no_such_bound() -> None:
    for users in (1, 2, 40):
        with ctx.workprec(192):
            assert striped_report(LineNoise(1.0, 2.0), 6.0, users, tail=1e-10) is None


def test_bounds_from_below_are_left_to_datasets() -> None:
    assert made(2.0, 2.0).delta(0.05).lower == 0.0


def test_masses_of_the_noise_are_those_of_its_law() -> None:
    for scale, power, noise in NOISES.values():
        line: Any = LineNoise(scale, power)
        for y in (-0.7, 0.0, 2.0):
            assert float(line.above(arb(y))) == pytest.approx(float(noise.sf(y)), abs=1e-12)
            ratio = float(line.exponent(arb(y)) - line.exponent(arb(0.0)))
            assert ratio == pytest.approx(float(noise.logpdf(0.0) - noise.logpdf(y)), abs=1e-12)
