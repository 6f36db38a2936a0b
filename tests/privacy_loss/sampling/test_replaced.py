"""A record that is replaced: against enumeration in rationals, and what is charged against what it has to cover."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dpverify.formulas.contexts import arb_context
from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from dpverify.privacy_loss.losses.pairs import Directions
from dpverify.privacy_loss.sampling.replaced import normal_cells, replaced_above, replaced_below
from dpverify.privacy_loss.sampling.triples import NoiseTriple
from tests.privacy_loss.sampling.test_allocation import EPSILONS, divergence

BASE, ONE = (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)), (Fraction(1, 8), Fraction(3, 8), Fraction(1, 2))
TRIPLE = NoiseTriple(*(np.array([float(mass) for mass in law]) for law in (BASE, ONE, ONE[::-1])), 0.0, 0.0)


def outcomes(steps: int, chosen: int) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return all outcomes, without the record, with it in so many steps, and with its opposite there."""
    places = list(itertools.combinations(range(steps), chosen))
    found = []
    for seen in itertools.product(range(3), repeat=steps):
        laws = [
            sum(
                (
                    Fraction(1, len(places)) * np.prod([(law if at in place else BASE)[y] for at, y in enumerate(seen)])
                    for place in places
                ),
                Fraction(0),
            )
            for law in (BASE, ONE, ONE[::-1])
        ]
        found.append((laws[0], laws[1], laws[2]))
    return found


def listed(pairs: list[tuple[Fraction, Fraction]]) -> PrivacyLossDistribution:
    return PrivacyLossDistribution.from_pmfs(*np.array(pairs, dtype=float).T)


@pytest.mark.parametrize(
    ("steps", "chosen"), [(1, 1), (2, 1), (4, 1), (3, 2), pytest.param(5, 3, marks=pytest.mark.long)]
)
def test_both_ends_hold(steps: int, chosen: int) -> None:
    exact = outcomes(steps, chosen)
    up, down = ([(law[i], law[j]) for law in exact] for i, j in ((1, 0), (0, 1)))
    above = replaced_above(Directions(listed(up), listed(down)))
    below = replaced_below(TRIPLE, steps, chosen)
    for epsilon in EPSILONS:
        truth = divergence([(p, q) for _, p, q in exact], epsilon)
        assert below.delta(epsilon).lower <= truth + Fraction(1, 10**14)
        assert above.delta(epsilon).upper >= truth - Fraction(1, 10**14)
        # The best split of H_d(P || P0) + d H_(a/d)(P0 || Q) is at a ratio that occurs.
        a = Fraction(np.exp(epsilon))
        splits = [
            sum((max(p - d * z, Fraction(0)) + max(d * z - a * q, Fraction(0)) for z, p, q in exact), Fraction(0))
            for d in {p / z for z, p, _ in exact} | {a * q / z for z, _, q in exact}
        ]
        assert above.delta(epsilon).upper == pytest.approx(float(min(splits)), abs=1e-12)
        assert below.delta(epsilon).lower >= truth * Fraction(97, 100) - Fraction(1, 10**4)
    if steps == 1:
        assert above.delta(0.3).upper == pytest.approx(below.delta(0.3).lower, abs=1e-12)


def test_what_lists_lack_counts_and_errors_are_charged() -> None:
    gone, there, _ = np.array(outcomes(2, 1), dtype=float).T
    order = np.argsort(there / gone)
    gone, there = gone[order], there[order]
    keep = slice(1, -1)
    up = PrivacyLossDistribution.from_pmfs(
        there[keep], gone[keep], missing_mass=1.0 - there[keep].sum() + 1e-12, relative_error=1e-9
    )
    down = PrivacyLossDistribution.from_pmfs(
        gone[keep], there[keep], missing_mass=1.0 - gone[keep].sum() + 1e-12, relative_error=1e-9
    )
    cut = replaced_above(Directions(up, down))
    full = replaced_above(
        Directions(*(PrivacyLossDistribution.from_pmfs(*pair) for pair in ((there, gone), (gone, there))))
    )
    for epsilon in EPSILONS:
        assert cut.delta(epsilon).upper >= full.delta(epsilon).upper - 1e-12
    # What P may have anywhere, and the largest ratios met by outcomes that Q may not have at all.
    assert cut.missing_mass >= up.missing_mass + down.missing_mass * (there / gone)[-2] * 0.999
    assert cut.relative_error >= 3e-9
    assert cut.loss_error >= up.loss_error + down.loss_error
    assert full.missing_mass == 0.0


@pytest.mark.parametrize("deviation", [0.1, 0.7, 30.0])
def test_cells_of_normal_noise(deviation: float) -> None:
    cells = normal_cells(deviation)
    assert np.array_equal(cells.one, cells.other[::-1])
    for law in (cells.base, cells.one, cells.other):
        assert law.sum() == pytest.approx(1.0, abs=1e-13)
    half = cells.base.size // 2
    with arb_context(256):  # the mass above 0 under the law around 1, and the first of all cells
        above = float(((-1 / arb(deviation)) / arb(2).sqrt()).erfc() / 2)
        assert cells.one[half:].sum() == pytest.approx(above, rel=1e-13)
    ratios = cells.one / cells.base
    assert (np.diff(ratios) > 0.0).all()
