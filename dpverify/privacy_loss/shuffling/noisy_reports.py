"""Shuffled reports of values in [0, 1] with noise on the line, also where no report is private by itself.

The noise has the density `f(y) ~ e^(-|y / scale|^power)`, power >= 1: Laplace at 1, normal at 2. It is even and
log-concave. So (docs/amplification.md, Lemma 2) what all inputs report at least is what the ends 0 and 1 do, f right of
1/2 and its mirror image left of it, and no two inputs are told apart better than the ends, whatever the others hold.
There `f(y - 1) / f(y)` rises with y.

**Above.** In a cell of y right of 1/2 the ratio r = f(y - 1) / f(y) is between that at its ends. Two atoms with these
ratios, of the cell's masses under both laws, are a mean-preserving spread of r given the cell, under the blanket; there
Z of Lemma 1 is linear in r (docs/amplification.md), whatever epsilon is, and the excess of the sum convex in each Z.

**Below.** All others hold 0, and she 0 or 1. A report is told by its cell only: post-processing.

`striped_reports.py` has the second upper end, as a rule the lower one of many users.

What lies outside of all cells is known to be hers (above), or not counted (below). So is a cell with a mass that is
next to nothing, or not known well.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb, ctx

from dpverify.formulas.contexts import upper_float
from dpverify.privacy_loss.shuffling.amplified_curve import Amplification, Cover
from dpverify.privacy_loss.shuffling.hidden_report import HiddenReport
from dpverify.privacy_loss.shuffling.striped_reports import LineNoise, striped_report
from dpverify.rounding import UNIT
from protocols.validation import check_integer, check_real

__all__ = ["noisy_reports"]

_BITS = 192
_LEAST_MASS, _ACCURATE = 1e-300, 53
"""Of what is listed of a cell, and how many bits of it are right."""
_LEAST_HIDDEN = 1e-30
"""Noise beyond 1/2 that is rarer than this hides nothing."""


def noisy_reports(
    scale: float, power: float, users: int, *, tail: float = 1e-11, cells: int = 150, smoothing: float = 5e-3
) -> Amplification:
    """Return what shuffling gives where every user reports a value in [0, 1], any of them, with noise of this density.

    - scale: Of the noise, in units of the interval's length, in [0.01, 1000]: b of the Laplace law at power 1, and
      sqrt(2) sigma of the normal law at power 2. The noise must be beyond 1/2 with a probability above 1e-30.
    - power: In [1, 10].
    - users: n, at least 1.
    - tail: About the mass that is cut and counts as seen, in [1e-280, 0.01]: little of the delta that is asked for. Of
      the Laplace law nothing is cut.
    - cells: How many cells each half of the line has.
    - smoothing: As in `expected_excess`.

    Raises TypeError or ValueError for an argument out of range.
    """
    check_real("scale", scale, low=0.01, high=1000.0)
    check_real("power", power, low=1.0, high=10.0)
    check_integer("users", users, low=1)
    check_real("tail", tail, low=1e-280, high=0.01)
    check_integer("cells", cells, low=2)
    with ctx.workprec(_BITS):
        noise = LineNoise(scale, power)
        if not noise.above(arb(0.5)) > _LEAST_HIDDEN:
            raise ValueError(f"scale={scale!r} must be larger at power={power!r}: such noise hides nothing.")
        reach = 1.0
        while not noise.above(arb(reach)) < tail:
            reach *= 1.05
        end = 1.0 + reach
        # The Laplace ratio is constant from 1 on: one cell, without an end. An edge at 1, at the peak of the density.
        inner = np.linspace(0.5, 1.0, max(cells // 6, 2))
        outer = [end] if power == 1.0 else np.linspace(1.0, end, cells)[1:]
        edges = [arb(float(edge)) for edge in (*inner, *outer)]
        mine = [noise.above(edge) for edge in edges]
        hers = [noise.above(edge - 1) for edge in edges]
        if power == 1.0:
            mine[-1] = hers[-1] = arb(0)
        ratios = [(noise.exponent(edge) - noise.exponent(edge - 1)).exp() for edge in edges]
        beyond = mine[-1] + hers[-1]
        spread: list[tuple[float, float]] = []
        lumps: list[tuple[float, float]] = []
        for j in range(len(edges) - 1):
            mass, other = mine[j] - mine[j + 1], hers[j] - hers[j + 1]
            low, high = ratios[j], ratios[j + 1]
            if power == 1.0 and edges[j] >= 1:
                atoms = [(mass, other)]
            else:
                right = (other - low * mass) / (high - low)
                atoms = [(part, part * ratio) for part, ratio in ((mass - right, low), (right, high))]
            if all(entry > _LEAST_MASS and entry.rel_accuracy_bits() >= _ACCURATE for atom in atoms for entry in atom):
                lumps.append((float(mass), float(other)))
                spread += [(float(part), float(more)) for part, more in atoms]
            else:
                beyond += mass + other
        missing = upper_float(beyond)
        striped = striped_report(noise, reach, users, tail=tail)
    common, raised = np.array(spread).T
    mass, other = np.array(lumps).T
    error = 8.0 * UNIT
    above = HiddenReport(
        users,
        np.concatenate([common, common]),
        np.concatenate([common, raised]),
        np.concatenate([raised, common]),
        missing=missing,
        error=error,
        smoothing=smoothing,
    )
    line = np.concatenate([mass, other])
    below = HiddenReport(users, line, line, np.concatenate([other, mass]), error=error, smoothing=smoothing)
    loss = (1.0 / scale) * (1.0 + 4.0 * UNIT) if power == 1.0 else math.inf
    least = loss * (1.0 - 8.0 * UNIT) if power == 1.0 else loss
    covers: tuple[Cover, ...] = ((above,),) if striped is None else ((above,), (striped,))
    return Amplification(covers, (below, below.reversed()), largest=loss, least=least)
