"""Ground truth of sampled noise in Arb balls: one step in closed form, two by an integral of the mixture."""

import math
from fractions import Fraction

from flint import acb, arb, ctx, fmpq

BITS = 256


def number(value: float | Fraction) -> arb:
    """Return a ball around a float, as its binary value, or a fraction."""
    return arb(fmpq(value.numerator, value.denominator)) if isinstance(value, Fraction) else arb(value)


class ExactNoise:
    """P0 and P1 = P0 shifted by 1, for noise of a law and a multiplier; E = e^L = P1/P0 rises along the line.

    Parameters
    ----------
    law : str
        "gaussian" or "laplace".
    noise : float
        The noise multiplier.
    """

    def __init__(self, law: str, noise: float) -> None:
        self.law, self.noise = law, number(noise)

    def above(self, loss: arb) -> tuple[arb, arb]:
        """Return the masses, under P0 and P1, of the losses above a number."""
        if self.law == "gaussian":
            x = loss * self.noise + 1 / (2 * self.noise)
            root = arb(2).sqrt()
            return (x / root).erfc() / 2, ((x - 1 / self.noise) / root).erfc() / 2
        if loss >= 1 / self.noise:
            return arb(0), arb(0)
        if loss < -1 / self.noise:
            return arb(1), arb(1)
        # Of x = (L noise + 1) / 2 in [0, 1): e^(-x/noise) / 2, and 1 - e^((x-1)/noise) / 2.
        x = (loss * self.noise + 1) / 2
        return (-x / self.noise).exp() / 2, 1 - ((x - 1) / self.noise).exp() / 2

    def remove(self, rate: float, a: arb) -> arb:
        """Return the mean of `(r - a)+` under P0, r = 1 - q + q E: the divergence of the mixture at ln a."""
        q = number(rate)
        least = (a - (1 - q)) / q
        if not least > 0:
            return arb(1) - a
        zero, one = self.above(least.log())
        return (1 - q - a) * zero + q * one

    def add(self, rate: float, a: arb) -> arb:
        """Return the mean of `(1 - a r)+` under P0: the divergence against the mixture at ln a."""
        # (1 - a r)+ = 1 - a r + a (r - 1/a)+, and r has mean 1.
        return 1 - a + a * self.remove(rate, 1 / a)


def divergence(noise: ExactNoise, rate: float, epsilon: float, *, adding: bool) -> arb:
    """Return the divergence of one step, as a ball."""
    with ctx.workprec(BITS):
        a = number(epsilon).exp()
        return arb(noise.add(rate, a) if adding else noise.remove(rate, a))


def replaced(noise: float, rate: float, epsilon: float) -> arb:
    """Return the divergence of one step of Gaussian noise where a record becomes its opposite, as a ball.

    `1 - q + q c X = a (1 - q + q c / X)` for X = e^(z/s), c = e^(-1/(2 s^2)), has one root X > 0.
    """
    with ctx.workprec(16 * BITS):
        q, s, a = number(rate), number(noise), number(epsilon).exp()
        c = (-1 / (2 * s * s)).exp()
        linear = (1 - q) * (1 - a)
        root = (linear * linear + 4 * a * q * q * c * c).sqrt()
        z = ((root - linear) / (2 * q * c)).log() * s
        zero, one, other = (((z - shift) / arb(2).sqrt()).erfc() / 2 for shift in (0, 1 / s, -1 / s))
        return arb((1 - q) * (1 - a) * zero + q * one - a * q * other)


def twice(noise: float, rate: float, epsilon: float, *, adding: bool) -> arb:
    """Return the divergence of two steps of Gaussian noise, as a ball: an integral over the first one's view.

    With r(z) = 1 - q + q e^(z/s - 1/(2 s^2)), removal is the mean of `r(z) H(a / r(z))`, H that of the second step,
    `H(b) = 1 - b` for b <= 1 - q. What lies beyond 14 deviations is below 1e-43, and enters the ball.
    """
    with ctx.workprec(128):
        q, s, a = number(rate), number(noise), number(epsilon).exp()
        a = 1 / a if adding else a
        low, high = arb(-14), 14 + 1 / s
        root = arb(2).sqrt()

        def ratio(z: acb) -> acb:
            return 1 - q + q * (z / s - 1 / (2 * s * s)).exp()

        def density(z: acb) -> acb:
            return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

        def inner(z: acb, analytic: bool) -> acb:
            r = ratio(z)
            rest = (a / r - (1 - q)) / q
            x = rest.log(analytic=analytic) * s + 1 / (2 * s)
            zero, one = (x / root).erfc() / 2, ((x - 1 / s) / root).erfc() / 2
            return density(z) * (r * ((1 - q) * zero + q * one) - a * zero)

        # The second step counts in full where r(z) >= a / (1 - q).
        full = high
        threshold = (a / (1 - q) - (1 - q)) / q if q < 1 else arb(-1)
        if q < 1:
            full = low if not threshold > 0 else min(high, max(low, threshold.log() * s + 1 / (2 * s)), key=float)
        # Next to it the integrand, analytic up to there, is at most r's density: a sliver enters the ball.
        end = full - number(2.0**-50) if full < high else full
        total = acb.integral(inner, acb(low), acb(end)).real if end > low else arb(0)
        if full < high:

            def tail(z: arb) -> tuple[arb, arb]:
                return (z / root).erfc() / 2, (1 - q) * (z / root).erfc() / 2 + q * ((z - 1 / s) / root).erfc() / 2

            zero, one = tail(full)
            total += one - a * zero
            sliver = tail(end)[1] - tail(full)[1]
            total = total + sliver.union(arb(0))
        total += arb(0, 1e-42)
        return arb(1 - 1 / a + total / a if adding else total)


def as_float(ball: arb, *, up: bool) -> float:
    """Return an end of a ball, rounded outwards."""
    end = ball.upper() if up else ball.lower()
    found = float(end)
    return math.nextafter(found, math.inf if up else -math.inf)
