"""What backs the verdicts on floods: 3NB's published one for every budget, and closed forms that suffice.

The proofs are in docs/floods.md; here are the computations that they rest on.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import flint
import numpy as np

from dpverify.certificates.enclosure import hockey_stick
from dpverify.certificates.pairs import Direction, ThreeNBPair
from dpverify.claims.bitsum.three_nb import FLOOD_RATE
from dpverify.evidence import divergence, require
from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import pure as pure_formulas
from dpverify.formulas.protocols import three_nb as formulas
from dpverify.privacy_loss.losses.pairs import three_nb
from dpverify.search import bisected

_LEAST, _MOST = 0.1011, 33.0
"""Of u = eps0 + ln(1/delta0): below, delta0 is above 1 - p; above, Chernoff's bound alone is enough."""


_BEST = (
    (0.1, 0.5, 1.0, 2.0, 5.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 25.0, 34.0),
    (0.635, 0.635, 0.681, 0.743, 0.845, 0.902, 0.925, 0.94, 0.951, 0.959, 0.965, 0.97, 0.978, 0.985),
)
"""Good choices of the free number y, by u: any other gives a bound too."""


_SHARE = 50.0
"""A box is cut across t where its side there is longer than this part of its side in u."""


_BOXES = 10**6


def _quotient(x: Any) -> Any:
    """Return (1 - e^-x)/x on a ball of x >= 0: decreasing, from its ends, and 1 at 0."""

    def at(end: Any, next_to_zero: Any) -> Any:
        return -(-end).expm1() / end if end > flint.arb("1e-9") else next_to_zero

    low, high = x.lower(), x.upper()
    return at(low, flint.arb(1)).union(at(high, 1 - high / 2))


def published_bound(t: Any, u: Any, y: Any, c: Any) -> tuple[Any, bool]:
    """Return H with `delta <= e^H delta0` for the published choice, and whether it is a bound (docs/floods.md).

    - t, u: `t = eps0 / u` in [0, 1] and `u = eps0 + ln(1/delta0)` with `1.98 u >= c`, as balls.
    - y: A number in (0, 1).
    - c: The rate in p', positive.
    """
    hundredth = flint.arb(1) / 100
    slack = u * hundredth + c  # phi = t slack
    phi, gap = t * slack, 198 * hundredth * u - c  # ln q = t gap
    rise = phi.exp() * _quotient(phi)  # (e^phi - 1) / phi
    eta = gap * _quotient(t * gap) / (slack * rise)
    steep = (1 + eta) / ((1 - y) * (1 + eta * y))
    shape = 3 * (1 + flint.arb(2).log() + u * (1 - t * hundredth))
    tilted = c + steep * slack * rise / shape  # (lambda + sigma) / t
    gain = (tilted * _quotient(t * tilted) / (c * _quotient(t * c))).log()
    at_most = ((1 - y).log() - (1 + eta * y).log() + steep * y).max(flint.arb(0))
    # r' gain - L, with L = u (1 - t), as one multiple of u.
    rest = u * ((1 - t) - 3 * (1 - t * hundredth) * gain) - 3 * (1 + flint.arb(2).log()) * gain
    noise = -(-99 * hundredth * (t * u).upper()).expm1()  # 1 - p, which grows
    return noise.log() + at_most + rest, bool(eta * (1 - 2 * y) <= 1)


def published() -> dict[str, float]:
    """Prove that c = FLOOD_RATE is private for all eps0 > 0 and delta0 in (0, 1), in Arb balls on all of (t, u).

    Boxes cover t in [0, 1] and u from 0.1011 to 33. Below, `1 - p <= 0.99 u < e^-u <= delta0`. Above, with y left out,
    `delta <= e^(-r' D)` with `D = ln((1 - e^-phi) / (1 - e^-lambda)) - (phi - lambda) / (e^phi - 1)`, which grows with
    u; r' >= 2.97 u, and L = (1 - t) u: what is shown is 2.97 D >= 1 - t at u = 33.
    """
    c = flint.arb(FLOOD_RATE)
    require(math.exp(-_LEAST) > 0.99 * _LEAST, "1 - p is not below delta0 next to 0.")
    require(1.98 * _LEAST > 1.0001 * FLOOD_RATE, "q is below 1 somewhere.")
    boxes, open_boxes = 0, [(0.0, 1.0, _LEAST, _MOST)]
    while open_boxes:
        left, right, low, high = open_boxes.pop()
        boxes += 1
        require(boxes <= _BOXES, f"t in [{left}, {right}], u in [{low}, {high}] is undecided.")
        y = flint.arb(float(np.interp((low + high) / 2, *_BEST)))
        found, holds = published_bound(flint.arb(left).union(right), flint.arb(low).union(high), y, c)
        if holds and found < 0:
            continue
        if (right - left) * _SHARE > high - low:
            middle = (left + right) / 2
            open_boxes += [(left, middle, low, high), (middle, right, low, high)]
        else:
            middle = (low + high) / 2
            open_boxes += [(left, right, low, middle), (left, right, middle, high)]
    steps = 400
    for step in range(steps):
        t = (flint.arb(step) / steps).union(flint.arb(step + 1) / steps)
        slack = flint.arb(_MOST) / 100 + c
        phi, rate = t * slack, t * c
        exponent = (slack * _quotient(phi) / (c * _quotient(rate))).log()
        exponent -= (1 - c / slack) / (phi.exp() * _quotient(phi))
        require(exponent * 297 / 100 >= 1 - t, f"Chernoff's bound is not enough at t = {step / steps}.")
    return {"boxes": boxes}


def enumerated() -> dict[str, float]:
    """Compare delta, its sum over the flood and the bound under that sum with brute force over counts, in fractions.

    Counts up to 24 are listed, of 3NB with rational parameters; what lies beyond has a mass that is compared as well.
    """
    worst = 0.0
    for p, flood_p, shape, ratio in product(
        (Fraction(1, 2), Fraction(2, 3)), (Fraction(1, 2), Fraction(9, 10)), (1, 2, 5), (Fraction(21, 10), Fraction(4))
    ):
        if flood_p < p * p or p * ratio <= 1:
            continue
        most = 24
        flood = [(1 - flood_p) ** shape]
        for z in range(most):
            flood.append(flood[-1] * flood_p * (shape + z) / (z + 1))
        law = [
            [sum(flood[z] * p ** (a + b - 2 * z) for z in range(min(a, b) + 1)) * (1 - p) ** 2 for b in range(most)]
            for a in range(most)
        ]
        brute = sum(
            max(law[a][b] - ratio * (law[a - 1][b] if a else 0), Fraction(0)) for a in range(most) for b in range(most)
        )
        weights = [flood[a] / p ** (2 * a) for a in range(most)]
        sums = [sum(weights[:a], Fraction(0)) for a in range(most)]
        wide, q = ratio / p, flood_p / (p * p)
        terms = [(1 - p) * max(flood[a] - (wide - 1) * p ** (2 * a) * sums[a], Fraction(0)) for a in range(most)]
        under = q * (shape - 1) + 1
        for a in range(most):
            require(sums[a] * (a * (q - 1) + under) >= a * weights[a], f"The bound on the sums fails at a = {a}.")
            allowed = 1 - (wide - 1) * a / (a * (q - 1) + under)
            require(terms[a] <= (1 - p) * flood[a] * max(allowed, Fraction(0)), f"The bound on a term fails at {a}.")
        # The terms count every b >= a, of which those beyond the list have a share of p^(most - a).
        beyond = sum(terms[a] * p ** (most - a) for a in range(most))
        require(brute == sum(terms) - beyond, "delta is not the sum over the flood.")
        require(
            all(law[a - 1][b] * p <= law[a][b] for a in range(1, most) for b in range(most)), "A loss is above -ln p."
        )
        worst = max(worst, float(beyond / brute) if brute else 0.0)
    return {"share_beyond": worst}


def dropping() -> dict[str, float]:
    """Compare Pure's divergence with 3NB's at the epsilon of undropped ones, on pairs of laws in fractions."""
    compared = 0
    for weights, q, ratio in product(
        ((1, 2, 3, 4), (5, 1, 1, 3), (1, 1, 1, 7)), (Fraction(1, 10), Fraction(1, 3)), (Fraction(3, 2), Fraction(5, 2))
    ):
        one = [Fraction(weight, sum(weights)) for weight in weights]
        zero = one[::-1]
        mixed = [q * b + (1 - q) * a for a, b in zip(one, zero, strict=True)]
        undropped = ratio * (1 - q) / (1 - q * ratio)
        dropped, plain = divergence(zero, mixed, power=ratio), divergence(zero, one, power=undropped)
        require(dropped == (1 - q * ratio) * plain, "Dropping does not move epsilon as stated.")
        compared += 1
    return {"pairs": compared}


def closed_form() -> dict[str, float]:
    """Compare the flood of the closed form with the least of the same shape or another, at three budgets."""

    def delta(p: float, shape: float, flood_p: float, epsilon: float) -> float:
        return max(pair.delta(epsilon).upper for pair in three_nb(p, shape, flood_p))

    figures = {}
    q = float(pure_formulas.drop_probability(FLOATS, 1.0, 0.5, 30_000))
    cases = {
        "small": (0.1, 1e-6, math.exp(-0.08)),
        "one": (1.0, 1e-6, math.exp(-0.9)),
        "pure": (
            float(pure_formulas.undropped_epsilon(FLOATS, 1.0, q)),
            1e-6 / (1.0 - q * math.e),
            math.exp(-float(pure_formulas.noise_epsilon(FLOATS, 1.0, 0.5))),
        ),
    }
    for name, (epsilon, target, p) in cases.items():
        flood_p = math.exp(-(epsilon + math.log(p)) / 2.0)
        shape = float(formulas.sufficient_flood_shape(FLOATS, epsilon, target, epsilon + math.log(p), flood_p))
        require(delta(p, shape, flood_p, epsilon) <= target, "The closed form is not private.")
        mean = shape * flood_p / (1.0 - flood_p)
        least = mean
        for other in (6.0, 12.0, 20.0, 35.0):

            def private(
                flood: float, other: float = other, p: float = p, at: tuple[float, float] = (epsilon, target)
            ) -> bool:
                return delta(p, other, flood / (flood + other), at[0]) <= at[1]

            if private(least):
                least = bisected(private, 0.1 * least, least, relative=5e-2, geometric=True)[1]
        figures[f"{name}_mean"], figures[f"{name}_ratio"] = mean, mean / least
    return figures


def certified(epsilon0: float, delta0: float, c: float, p: float | None = None) -> tuple[float, float]:
    """Return Arb's bounds on the delta of the published 3NB at epsilon0, the larger of both directions."""
    pair = ThreeNBPair(
        float(formulas.noise_p(FLOATS, epsilon0)) if p is None else p,
        float(formulas.flood_shape(FLOATS, epsilon0, delta0)),
        float(formulas.flood_p(FLOATS, epsilon0, delta0, c)),
    )
    found = [hockey_stick(pair, epsilon0, direction, digits=8) for direction in Direction]
    return max(each.lower for each in found), max(each.upper for each in found)


def flood_rate() -> dict[str, float]:
    """Enclose the delta of 3NB for several constants c, where the source leaves c as Theta(1)."""
    small, worst = (0.0134, 6.5e-10), (1.27, 3.6e-7)
    one, half = certified(*small, 1.0), certified(*small, 0.5)
    require(one[0] > half[0] > small[1], "c = 1/2 is private at the point of the experiments.")
    require(certified(*worst, 0.2514)[1] <= worst[1], "c = 0.2514 is not private where the constant is smallest.")
    require(certified(*worst, 0.2515)[0] > worst[1], "c = 0.2515 is private where the constant is smallest.")
    require(certified(*worst, FLOOD_RATE)[1] <= worst[1], "The constant in use is not private.")
    return {"delta_one": one[0], "delta_half": half[0], "rate": FLOOD_RATE}


def flood_rate_grid() -> dict[str, float]:
    """Bound the delta of 3NB at c = 0.2 on a grid of eps0 from 0.0134 to 6 and delta0 from 1e-12 to 1e-2.

    The share of delta0 is largest near eps0 = 1.3, delta0 = 3e-5, which is a point of the grid.
    """
    worst = 0.0
    epsilons, deltas = (0.0134, 0.1, 0.3, 0.6, 1.0, 1.3, 2.0, 3.0, 6.0), (1e-2, 1e-4, 3e-5, 1e-6, 1e-9, 1e-12)
    for epsilon0, delta0 in product(epsilons, deltas):
        directions = three_nb(
            float(formulas.noise_p(FLOATS, epsilon0)),
            float(formulas.flood_shape(FLOATS, epsilon0, delta0)),
            float(formulas.flood_p(FLOATS, epsilon0, delta0, FLOOD_RATE)),
        )
        worst = max(worst, *(pair.delta(epsilon0).upper / delta0 for pair in directions))
    require(worst <= 1.0, f"c = {FLOOD_RATE} gives {worst} delta0 somewhere on the grid.")
    return {"worst_share": worst, "grid": len(epsilons) * len(deltas)}


def code_of_three_nb() -> dict[str, float]:
    """Compare p = e^(-0.8 eps0) of the public code with the text's e^(-0.99 eps0): delta and error at (1, 1e-6)."""
    text, code = math.exp(-0.99), math.exp(-0.8)
    deltas = [certified(1.0, 1e-6, 0.2, p)[1] for p in (text, code)]
    require(deltas[1] < deltas[0] <= 1e-6, "More noise is less private.")
    errors = [float(formulas.rmse(FLOATS, p, 1)) for p in (text, code)]
    return {"text_error": errors[0], "code_error": errors[1]}


def error_of_three_nb() -> dict[str, float]:
    """Take limits of the error sqrt(2p)/(1-p), p = e^(-0.99 eps0), times eps0: sqrt 2 / 0.99, and 0 as eps0 grows."""
    import sympy

    e = sympy.symbols("e", positive=True)
    p = sympy.exp(-sympy.Rational(99, 100) * e)
    squared = 2 * p / (1 - p) ** 2 * e**2
    small = sympy.limit(squared, e, 0, "+")
    require(sympy.simplify(small - 2 / sympy.Rational(99, 100) ** 2) == 0, "Another limit as eps0 goes to 0.")
    require(sympy.limit(squared, e, sympy.oo) == 0, "The error is of order 1/eps0 for large eps0.")
    return {"constant": math.sqrt(float(small))}


def sum_of_three_noises() -> dict[str, float]:
    """Enumerate b + z1 + z3 - (z2 + z3) over small noises, and compare the error with that at p = e^-eps0."""
    require(
        all(b + z1 + z3 - (z2 + z3) == b + z1 - z2 for b, z1, z2, z3 in product((0, 1), range(4), range(4), range(4))),
        "The flood does not cancel.",
    )

    def error(p: float) -> float:
        return math.sqrt(2.0 * p) / (1.0 - p)

    return {
        f"more_{name}": error(math.exp(-0.99 * e)) / error(math.exp(-e)) - 1.0
        for name, e in (("small", 0.01), ("one", 1.0))
    }
