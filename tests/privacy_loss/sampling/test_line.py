"""Sampled noise on a grid: every mass and loss against Arb, and divergences of one and two steps against the exact."""

import itertools
from unittest import mock

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.guarantee import CapacityError
from dpverify.privacy_loss.sampling import line as module
from dpverify.privacy_loss.sampling.line import NoiseLine, SampledGrids
from dpverify.privacy_loss.windows.transform import Composition
from dpverify.rounding import UNIT
from tests.privacy_loss.sampling.exact import BITS, ExactNoise, divergence, number, replaced, twice

CASES = [
    ("gaussian", 1.0, 0.01, 0.02),
    ("gaussian", 0.3, 0.5, 0.7),
    ("gaussian", 0.3, 1e-6, 0.01),
    ("gaussian", 0.05, 0.3, 4.0),
    ("gaussian", 100.0, 1e-6, 1e-9),
    ("gaussian", 2.0, 1.0, 0.05),
    ("gaussian", 100.0, 0.5, 0.2),
    ("gaussian", 1.0, 1.0 - 2.0**-40, 0.3),
    ("gaussian", 1.0, 0.25, 16.0),
    ("laplace", 1.0, 0.01, 1e-4),
    ("laplace", 0.1, 0.3, 0.4),
    ("laplace", 3.0, 1.0, 0.3),
    ("laplace", 0.01, 1e-6, 1.0),
    ("laplace", 1.0, 0.5, 9.0),
]


def line_of(law: str, noise: float) -> NoiseLine:
    return NoiseLine.laplace(noise) if law == "laplace" else NoiseLine.gaussian(noise, 1e-30)


def below(law: str, z: float, noise: arb, shifted: bool) -> arb:
    """Return the mass below a place, under P0, or of the density of P1: atoms count as such where they are asked."""
    slope = 1 / noise
    if law == "gaussian":
        return (((slope if shifted else arb(0)) - number(z)) / arb(2).sqrt()).erfc() / 2
    if shifted:
        return ((number(z) - 1) * slope / 2).exp() / 2
    return -(-(number(z) + 1) * slope / 2).exp() / 2


@pytest.mark.parametrize(("law", "noise", "rate", "step"), CASES)
def test_lists_are_above_and_below_the_truth(law: str, noise: float, rate: float, step: float) -> None:
    above, below = line_of(law, noise).listed(rate)
    spread = float(np.sqrt(np.sum(above.up.masses * above.up.losses**2)))
    for adding, high, low in ((False, above.up, below.up), (True, above.down, below.down)):
        for epsilon in (-0.3 * spread, 0.0, 0.7 * spread, 3.0 * spread):
            truth = divergence(ExactNoise(law, noise), rate, epsilon, adding=adding)
            assert not truth > high.delta(epsilon).upper
            assert not truth < low.delta(epsilon).lower
            if truth > 1e-9:
                assert high.delta(epsilon).upper - low.delta(epsilon).lower < 4e-3 * float(truth)


def test_lists_of_opposite_records_are_above_and_below_the_truth() -> None:
    for noise, rate in ((1.0, 0.01), (0.3, 0.5), (20.0, 1e-6)):
        above, below = NoiseLine.gaussian(noise, 1e-30, opposite=True).listed(rate)
        for epsilon in (-0.3 * rate, rate, 3.0 * rate, 0.5):
            truth = replaced(noise, rate, epsilon)
            assert not truth > above.up.delta(epsilon).upper
            assert not truth < below.up.delta(epsilon).lower
            if truth > 1e-9:
                assert above.up.delta(epsilon).upper - below.up.delta(epsilon).lower < 4e-3 * float(truth)


@pytest.mark.long
@pytest.mark.parametrize(("law", "noise", "rate", "step"), CASES)
def test_masses_and_losses_are_within_their_errors(law: str, noise: float, rate: float, step: float) -> None:
    line = line_of(law, noise)
    cells, grids = line._cells(rate, step), line.sampled(rate, step)
    with ctx.workprec(4 * BITS):
        q, s = number(rate), number(noise)
        shift = 1 / (2 * s * s) if law == "gaussian" else arb(0)
        ratios = [(number(float(z)) / s - shift).exp() for z in cells.places]
        low = (number(line.low) / s - shift).exp()
        ends = [low - number(cells.gap) * ratios[0], *ratios]
        edges = [line.low, *map(float, cells.places[:-1]), line.high]
        masses = [arb(0) for _ in ends]
        for k in range(len(edges) - 1):
            zero, one = (below(law, edges[k + 1], s, b) - below(law, edges[k], s, b) for b in (False, True))
            if law == "laplace":
                for at, atom in ((0, arb(1) / 2), (len(edges) - 2, (-1 / s).exp() / 2)):
                    if k == at:
                        zero += atom
                        one += atom * ((-1 / s).exp() if atom == arb(1) / 2 else (1 / s).exp())
            masses[k + 1] += (one - ends[k] * zero) / (ends[k + 1] - ends[k])
            masses[k] += (ends[k + 1] * zero - one) / (ends[k + 1] - ends[k])
        likelihoods = [1 - q + q * end for end in ends]
        losses = [ratio.log() for ratio in likelihoods]
        assert all(bool(likelihood > 0) for likelihood in likelihoods)
        assert line.missing >= 0.0
        for grid, weights, signs in ((grids.remove, likelihoods, 1), (grids.add, [arb(1)] * len(ends), -1)):
            found = dict(zip((signs * grid.indices).tolist(), grid.masses.tolist(), strict=True))
            worst = [abs(loss - number(int(i) * step)) for loss, i in zip(losses, cells.indices, strict=True)]
            assert all(bool(off <= grid.loss_error) for off in worst)
            assert bool(max(worst, key=float) > 0.0)
            wide = [after - before for before, after in itertools.pairwise(losses)]
            assert all(bool(gap <= grid.split_width) for gap in wide)
            for index, mass, weight in zip(cells.indices.tolist(), masses, weights, strict=True):
                if found.get(index, 0.0) > 1e-290:
                    assert bool(abs(number(found[index]) / (weight * mass) - 1) <= grid.relative_error), index
                else:
                    assert bool(weight * mass < 1e-280)


REPLACED = [
    (1.0, 0.01, 0.05),
    (0.3, 0.5, 0.7),
    (0.3, 1e-6, 0.02),
    (0.06, 0.3, 8.0),
    (50.0, 1e-6, 1e-9),
    (2.0, 1.0, 0.1),
]


@pytest.mark.long
@pytest.mark.parametrize(("noise", "rate", "step"), REPLACED)
def test_masses_and_losses_where_a_record_becomes_its_opposite(noise: float, rate: float, step: float) -> None:
    line = NoiseLine.gaussian(noise, 1e-30, opposite=True)
    cells, (grid, same) = line._cells(rate, step), line.sampled(rate, step)
    assert same is grid
    with ctx.workprec(4 * BITS):
        q, s = number(rate), number(noise)
        c, root = (-1 / (2 * s * s)).exp(), arb(2).sqrt()
        places = [number(float(z)) for z in (cells.start, *cells.places)]
        edges = [number(line.low), *places[1:-1], number(line.high)]
        up, down = ([1 - q + q * c * (sign * z / s).exp() for z in places] for sign in (1, -1))
        # With A, B the integrals of both mixtures over a cell, the splits of r - R_i r' and R_(i+1) r' - r.
        below_of = [[((shift - edge) / root).erfc() / 2 for shift in (0, 1 / s, -1 / s)] for edge in edges]
        whole = [[after - before for before, after in zip(*ends, strict=True)] for ends in itertools.pairwise(below_of)]
        masses = [arb(0) for _ in places]
        for k, (zero, one, other) in enumerate(whole):
            first, second = (1 - q) * zero + q * one, (1 - q) * zero + q * other
            both = up[k + 1] * down[k] - up[k] * down[k + 1]
            masses[k + 1] += (first * down[k] - second * up[k]) / both
            masses[k] += (second * up[k + 1] - first * down[k + 1]) / both
        losses = [(a / b).log() for a, b in zip(up, down, strict=True)]
        found = dict(zip(grid.indices.tolist(), grid.masses.tolist(), strict=True))
        for index, mass, weight, loss in zip(cells.indices.tolist(), masses, up, losses, strict=True):
            assert bool(abs(loss - number(index * step)) <= grid.loss_error), index
            if found.get(index, 0.0) > 1e-290:
                assert bool(abs(number(found[index]) / (weight * mass) - 1) <= grid.relative_error), index
        assert all(bool(after - before <= grid.split_width) for before, after in itertools.pairwise(losses))
        outside = [x + 1 - y for x, y in zip(below_of[0], below_of[-1], strict=True)]
        assert (1 - q) * outside[0] + q * outside[1] < grid.missing_mass


def test_one_step_where_a_record_becomes_its_opposite() -> None:
    rng = np.random.default_rng(11)
    for noise, rate, _ in REPLACED:
        line = NoiseLine.gaussian(noise, 1e-30, opposite=True)
        largest = float(np.abs(line.moments(rate).losses).max())
        grid = line.sampled(rate, min(largest / 300.0, 16.0)).remove
        for epsilon in (0.0, *(largest * rng.uniform(-1.0, 1.0, 3) ** 3)):
            exact, interval = replaced(noise, rate, float(epsilon)), Composition([(grid, 1)]).delta(float(epsilon))
            assert exact.upper() >= interval.lower, (noise, rate, epsilon)
            assert exact.lower() <= interval.upper, (noise, rate, epsilon)


def test_no_two_records_are_further_apart_than_opposites() -> None:
    # Divergences of mixtures around two points of the disc, on a grid of the plane: no proof, but a check of one.
    rng = np.random.default_rng(5)
    x = np.linspace(-7.0, 7.0, 141)
    plane = np.meshgrid(x, x)

    def law(u: tuple[float, float], rate: float) -> np.ndarray:
        bells = [np.exp(-0.5 * ((plane[0] - a) ** 2 + (plane[1] - b) ** 2)) for a, b in ((0.0, 0.0), u)]
        return np.asarray(((1.0 - rate) * bells[0] + rate * bells[1]) * (0.01 / (2.0 * np.pi)))

    for _ in range(60):
        rate, a = rng.uniform(0.01, 0.99), float(np.exp(rng.uniform(0.0, 1.0) ** 2))
        angles, sizes = rng.uniform(0.0, 2.0 * np.pi, 2) * rng.integers(0, 2), np.sqrt(rng.uniform(0.0, 1.0, 2))
        points = [(float(r * np.cos(t)), float(r * np.sin(t))) for r, t in zip(sizes, angles, strict=True)]
        found, worst = (
            float(np.maximum(law(u, rate) - a * law(v, rate), 0.0).sum())
            for u, v in (points, ((1.0, 0.0), (-1.0, 0.0)))
        )
        assert found <= worst + 1e-9


@pytest.mark.parametrize("rate", [1e-6, 0.3, 1.0])
def test_what_lies_outside_is_charged(rate: float) -> None:
    line = NoiseLine.gaussian(1.5, 1e-3)
    with ctx.workprec(BITS):
        s, q = number(1.5), number(rate)
        outside = [below("gaussian", line.low, s, b) + 1 - below("gaussian", line.high, s, b) for b in (False, True)]
        mixed = (1 - q) * outside[0] + q * outside[1]
    grids = line.sampled(rate, 0.01)
    assert mixed < grids.remove.missing_mass
    assert outside[0] < grids.add.missing_mass
    for grid in grids:
        assert grid.unbounded_mass < 3e-3
        assert 1.0 - float(grid.masses.sum()) <= grid.missing_mass + grid.relative_error


def test_cells_that_are_no_floats_are_missing_from_what_is_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    fine, once = (NoiseLine.gaussian(1.5, 1e-3).listed(0.3, finer)[1] for finer in (4, 1))
    assert all(law.missing_mass >= 1e-3 for law in once)
    assert fine.up.masses.size > 3.9 * once.up.masses.size
    monkeypatch.setattr(module, "_LEAST_MASS", 1e-4)
    for law in NoiseLine.gaussian(1.5, 1e-3).listed(0.3)[1]:
        assert 2e-3 < 1.0 - float(law.masses.sum()) <= law.missing_mass - 0.9e-3  # and what lies outside


def grids(law: str, noise: float, rate: float, cells: int) -> tuple[float, SampledGrids]:
    line = line_of(law, noise)
    largest = float(np.abs(line.moments(rate).losses).max())
    return largest, line.sampled(rate, largest / cells)


def test_one_step_contains_the_exact_divergence() -> None:
    rng = np.random.default_rng(7)
    widths = []
    for law, noise, rate, _ in CASES:
        largest, found = grids(law, noise, rate, int(rng.integers(3, 900)))
        for epsilon in (*(largest * rng.uniform(-1.0, 1.0, 2) ** 3), 0.0, largest * rng.uniform(0.0, 1.0)):
            for adding, grid in enumerate(found):
                exact = divergence(ExactNoise(law, noise), rate, float(epsilon), adding=bool(adding))
                interval = Composition([(grid, 1)]).delta(float(epsilon))
                assert exact.upper() >= interval.lower, (law, noise, rate, epsilon, adding)
                assert exact.lower() <= interval.upper, (law, noise, rate, epsilon, adding)
                widths.append(interval.width)
    assert np.median(widths) < 1e-4


@pytest.mark.parametrize(
    ("noise", "rate", "epsilon", "cells"),
    [(1.0, 0.3, 0.5, 3000), (2.0, 0.9, -0.4, 3000), pytest.param(0.5, 0.01, 0.019, 60000, marks=pytest.mark.long)],
)
def test_two_steps_contain_the_exact_divergence(noise: float, rate: float, epsilon: float, cells: int) -> None:
    _, found = grids("gaussian", noise, rate, cells)
    for adding, grid in enumerate(found):
        exact = twice(noise, rate, epsilon, adding=bool(adding))
        interval = Composition([(grid, 2)]).delta(epsilon)
        assert exact.upper() >= interval.lower
        assert exact.lower() <= interval.upper
        assert interval.width < 1e-4
        assert float(exact.rad()) < 1e-12


@pytest.mark.parametrize(("length", "rate"), [(0.1, 1.0), (2.0, 0.3), (30.0, 1e-3), (650.0, 0.5)])
def test_no_losses_of_bounded_range_reveal_more(length: float, rate: float) -> None:
    # H(x) = (1 - sqrt(x e^-length))^2 / (1 - e^-length) between e^-length and e^length, and on samples, in Arb.
    rng = np.random.default_rng(5)
    line = NoiseLine.bounded_range(length)
    largest = float(np.abs(line.moments(rate).losses).max())
    found = line.sampled(rate, min(largest / 700.0, 16.0))
    with ctx.workprec(16 * BITS):
        end, q = number(length).exp(), number(rate)

        def profile(x: arb) -> arb:
            if not x > 1 / end:
                return 1 - x
            return (1 - (x / end).sqrt()) ** 2 / (1 - 1 / end) if x < end else arb(0)

        def removed(a: arb) -> arb:
            x = (a - 1 + q) / q  # of (r - a)+ = q (E - x)+
            return q * profile(x) if x > 0 else 1 - a

        for epsilon in (0.0, *(largest * rng.uniform(-1.0, 1.0, 6))):
            a = number(float(epsilon)).exp()
            for grid, truth in zip(found, (removed(a), 1 - a + a * removed(1 / a)), strict=True):
                interval = Composition([(grid, 1)]).delta(float(epsilon))
                assert truth.upper() >= interval.lower
                assert truth.lower() <= interval.upper
                assert length > 10.0 or interval.width < 1e-3
        # Any two losses of that range and the mass that they have then; others lie between.
        for share in rng.uniform(0.0, 1.0, 20):
            t = number(float(share)) * number(length)
            p = (1 - t.exp() / end) / (1 - 1 / end)
            for x in (number(float(y) * length).exp() for y in rng.uniform(-1.0, 1.0, 5)):
                terms = (p * (1 - x / t.exp()), (1 - p) * (1 - x * end / t.exp()))
                assert bool(sum((term for term in terms if term > 0), arb(0)) <= profile(x) + arb(2) ** -200)


@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize(("law", "noise", "rate", "step"), [("gaussian", 1.0, 0.3, 0.3), ("laplace", 0.1, 0.5, 0.5)])
def test_every_charge_of_the_page_is_made(law: str, noise: float, rate: float, step: float, opposite: bool) -> None:
    """The least error of masses that docs/sampling.md states: real errors are far below, and would not miss a part."""
    if opposite and law == "laplace":
        pytest.skip("replacing a record among Laplace noise has no line")
    line = NoiseLine.gaussian(noise, 1e-30, opposite=opposite) if law == "gaussian" else line_of(law, noise)
    cells = line._cells(rate, step)
    _, _, removed, error = line._shared(cells, rate)
    width = float(np.diff(np.append(cells.start, cells.places)).max())
    farthest, slope = max(abs(line.low), abs(line.high)), 1.0 / noise
    density = 4.0 * farthest**2 + 8.0 * farthest if law == "gaussian" else 8.0 * slope
    panels = np.floor(width * max(25.0 if law == "gaussian" else 0.0, slope))
    units = density + 200.0 + 12.0 * slope * width + panels + 32.0
    straight = 8.0 * (slope * farthest + (0.5 * slope**2 if law == "gaussian" else 0.0))
    if opposite:
        units += 32.0 + 0.9 * 4.0 * straight
    assert error >= 1e-15 + (1.0 - 1e-9) * units * UNIT
    assert removed >= error + cells.loss_error + (1.0 - 1e-9) * straight * UNIT
    grids = line.sampled(rate, step)
    assert grids.remove.relative_error == removed
    assert grids.add.relative_error == (removed if opposite else error)
    assert grids.add.split_width > step + 2.0 * cells.loss_error


def test_the_line_errs_as_charged_and_every_law_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    worst = 0.0
    for noise in rng.uniform(0.1, 9.0, 30):
        line = NoiseLine.gaussian(float(noise), 1e-30)
        places = rng.uniform(line.low, line.high, 30)
        with ctx.workprec(BITS):
            s = 1 / number(float(noise))
            for z, found, charged in zip(
                places, line.slope * places + line.intercept, line._line_error(places), strict=True
            ):
                off = float(abs(number(float(found)) - (s * number(float(z)) - s * s / 2)))
                assert off <= charged
                worst = max(worst, off / charged)
    assert worst > 0.05
    # Far larger errors than there are: each part must reach what is made of it.
    q, large = 0.3, 1e-4
    line, both = (NoiseLine.gaussian(1.0, 1e-20, opposite=opposite) for opposite in (False, True))
    z = np.array([-1.0, 0.0, 2.0])
    up, down = (q * np.exp(sign * z - 0.5) / (1.0 - q + q * np.exp(sign * z - 0.5)) for sign in (1.0, -1.0))
    with monkeypatch.context() as patch:
        patch.setattr(NoiseLine, "_line_error", lambda self, z: np.full(z.shape, large))
        assert (line._losses(z, q)[2] >= 0.999 * large * up).all()
        assert (both._losses(z, q)[2] >= 0.999 * large * (up + down)).all()
        for law in (*line.sampled(q, 0.1), *line.listed(q)[0]):
            assert law.loss_error >= 0.9 * large
        above, below = line.listed(q)
        assert above.up.relative_error >= 1.9 * large  # of the ratio, and of the line
        assert min(below.up.relative_error, below.down.relative_error) >= 2.8 * large
    with monkeypatch.context() as patch:
        patch.setattr(NoiseLine, "_line_error", lambda self, z: np.where(z == self.low, large, 0.0))
        assert line._cells(1.0, 0.1).loss_error >= 0.999 * large
    with monkeypatch.context() as patch:
        made = module.mixed_losses
        patch.setattr(module, "mixed_losses", lambda *given: made(*given)._replace(rounding=large))
        assert (line._losses(z, q)[2] >= large).all()
        assert (both._losses(z, q)[2] >= 1.999 * large).all()
    with monkeypatch.context() as patch:
        inverse = NoiseLine._inverse
        patch.setattr(NoiseLine, "_inverse", lambda self, losses, rate: inverse(self, losses, rate) + large)
        for each in (line, both):
            assert each._cells(q, 0.1).loss_error >= 0.9 * large * q


def test_limits_are_refused() -> None:
    with pytest.raises(CapacityError, match=r"^noise=0\.02 .* more noise or a larger delta does not"):
        NoiseLine.gaussian(0.02)
    with pytest.raises(ValueError, match=r"^noise=0\.001 must be a finite number in \[0\.00142"):
        NoiseLine.laplace(0.001)
    with pytest.raises(ValueError, match=r"^rate=0\.0 must be a finite number in \(0, 1\]"):
        NoiseLine.laplace(1.0).sampled(0.0, 0.1)
    with pytest.raises(CapacityError, match=r"^step=1e-06 needs 2\.81e\+07 cells; a larger step needs fewer"):
        NoiseLine.gaussian(1.0).sampled(1.0, 1e-6)
    line = NoiseLine.gaussian(1.0)
    with (
        mock.patch.object(NoiseLine, "_inverse", lambda _, losses, rate: np.full(losses.size, line.high)),
        pytest.raises(CapacityError, match=r"^step=0\.1 is less than floats tell apart here; a larger step is not"),
    ):
        line.sampled(0.5, 0.1)
