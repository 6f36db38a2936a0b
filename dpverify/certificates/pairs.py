"""The views of two neighbouring inputs, with divergences that can be enclosed to any number of digits.

Tails are regularised incomplete beta functions or positive recurrences, parameters are exact rationals, and what an
infinite sum leaves out is bounded and added to the ball.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field, fields
from enum import StrEnum
from fractions import Fraction

from flint import arb, arb_poly, ctx

from dpverify.certificates.balls import as_ball, as_rational, check_number
from dpverify.guarantee import CapacityError, Number
from protocols.classes.frozen import dataclass
from protocols.validation import check_integer, read_range

__all__ = [
    "Direction",
    "DiscreteLaplacePair",
    "GaussianPair",
    "NegativeBinomialPair",
    "Pair",
    "RandomizedResponsePair",
    "ThreeNBPair",
]

_MOST_CONVOLVED_USERS = 2**12
_MOST_SEARCHED_USERS = 2**9
_MOST_COUNTED = 2**9


class Direction(StrEnum):
    """Which of two neighbouring inputs is the first argument P of the divergence."""

    UP = "up"
    """P is the law with the larger sum: the user's bit is 1 under P and 0 under Q."""
    DOWN = "down"
    """P is the law with the smaller sum."""


def _positive_part(x: arb) -> arb:
    return x.max(arb(0))


def _by_threshold(value: Callable[[int], arb], threshold: arb) -> arb:
    """Return `value(floor(threshold))`, or a ball around both candidates where the floor cannot be told."""
    if not abs(threshold) < arb(2) ** 2**16:  # nor is what is infinite; as an integer it would take all memory
        return arb.nan()
    if arb(0) < threshold < arb(1):  # however near 0
        return value(0)
    low, high = (math.floor(as_rational(end)) for end in (threshold.lower(), threshold.upper()))
    return value(low) if low == high else value(low).union(value(high)) if high == low + 1 else arb.nan()


class Pair(ABC):
    """The views of two neighbouring inputs, as laws whose divergence can be enclosed.

    The fields of a subclass are its parameters: `within`, in the metadata of each, is its range, and `help` what it is.
    """

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            value, (low, high, low_open, _) = getattr(self, each.name), read_range(each.metadata["within"])
            if each.type == "Number":
                ends = -math.inf if low is None else low, math.inf if high is None else high
                check_number(each.name, value, *ends, low_open=low_open)
            elif value is not None or each.default is not None:
                check_integer(each.name, value, low=low, high=high)

    @property
    def dataset(self) -> str:
        """What all other users hold where the divergence is that of the pair, in words."""
        return "whatever others hold"

    @abstractmethod
    def enclose(self, epsilon: arb, direction: Direction) -> arb:
        """Return a ball around the hockey-stick divergence, at the working precision of `flint.ctx`."""


@dataclass(frozen=True)
class RandomizedResponsePair(Pair):
    """Randomized response: `W + Bern(1-p)` against `W + Bern(p)`, `W = Bin(ones, 1-p) + Bin(users-1-ones, p)`.

    Parameters
    ----------
    users : int
        n >= 1; at most 512 if `ones` is omitted, and 4096 unless it is 0.
    flip_probability : int, float, Fraction, Decimal or decimal string
        p, in (0, 1/2).
    ones : int, optional
        The number of ones among the other n - 1 users. The divergence depends on it, and its largest is at neither end
        in general: when omitted, it is the largest over all datasets.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.

    Examples
    --------
    >>> from dpverify import hockey_stick
    >>> hockey_stick(RandomizedResponsePair(100, "0.25", 0), "0.3", digits=6).text
    '[6.66370e-5 +/- 1.21e-11]'
    >>> hockey_stick(RandomizedResponsePair(100, "0.25"), "0.3", digits=6).text
    '[0.000453785 +/- 1.73e-10]'
    """

    users: int = field(
        metadata={
            "within": "[1, inf)",
            "help": "n, the number of users; at most 512, 4096 with --ones, any with --ones 0.",
        }
    )
    flip_probability: Number = field(metadata={"within": "(0, 1/2)", "help": "p, in {}."})
    ones: int | None = field(
        default=None,
        metadata={
            "within": "[0, inf)",
            "help": "How many of the other n - 1 users hold a 1; without it, the worst number.",
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ones is None and self.users > _MOST_SEARCHED_USERS:
            raise ValueError(
                f"users={self.users!r} must be at most {_MOST_SEARCHED_USERS} unless ones is given: without it every "
                "dataset is tried."
            )
        if self.ones is not None:
            check_integer("ones", self.ones, low=0, high=self.users - 1)
        if self.ones:
            check_integer("users", self.users, high=_MOST_CONVOLVED_USERS)

    @property
    def dataset(self) -> str:  # noqa: D102
        others = self.users - 1
        if self.ones is None:
            return "the largest of all datasets"
        return f"if {self.ones:,} of the {others:,} others hold a 1" if others else "a report alone"

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        p = as_ball(self.flip_probability)
        if self.ones == 0:
            return self._by_tails(p, epsilon, direction)
        tried = range(self.users) if self.ones is None else (self.ones,)
        return functools.reduce(arb.max, (self._by_atoms(p, epsilon, direction, ones) for ones in tried))

    def _by_tails(self, p: arb, epsilon: arb, direction: Direction) -> arb:
        # The likelihood ratio one/zero at y is affine: p/(1-p) + y (1-2p) / (n p (1-p)), so it passes a level at
        # one known y, and the divergence is a difference of two binomial tails.
        n, up = self.users, direction is Direction.UP
        level = (epsilon if up else -epsilon).exp()
        crossing = (level - p / (1 - p)) * n * p * (1 - p) / (1 - 2 * p)

        def above(trials: int, y: int) -> arb:
            if y < 0 or y >= trials:
                return arb(1 if y < 0 else 0)
            return p.beta_lower(y + 1, trials - y, regularized=True)

        def below(trials: int, y: int) -> arb:
            if y < 0 or y >= trials:
                return arb(0 if y < 0 else 1)
            return (1 - p).beta_lower(trials - y, y + 1, regularized=True)

        def value(y: int) -> arb:
            tail = above if up else below
            zero, one = tail(n, y), (1 - p) * tail(n - 1, y - 1) + p * tail(n - 1, y)
            return one - epsilon.exp() * zero if up else zero - epsilon.exp() * one

        return _by_threshold(value, crossing.max(arb(-1)).min(arb(n)))

    def _by_atoms(self, p: arb, epsilon: arb, direction: Direction, ones: int) -> arb:
        reports_zero, reports_one = arb_poly([1 - p, p]), arb_poly([p, 1 - p])
        others = reports_one**ones * reports_zero ** (self.users - 1 - ones)
        first, second = others * reports_one, others * reports_zero
        if direction is Direction.DOWN:
            first, second = second, first
        factor = epsilon.exp()
        return sum((_positive_part(first[y] - factor * second[y]) for y in range(self.users + 1)), arb(0))


@dataclass(frozen=True)
class NegativeBinomialPair(Pair):
    """One negative binomial noise: Z + 1 against Z, Z with pmf `f(z) = C(z+r-1, z) (1-p)^r p^z`.

    Parameters
    ----------
    shape : int, float, Fraction, Decimal or decimal string
        r > 0.
    p : int, float, Fraction, Decimal or decimal string
        In (0, 1).

    Examples
    --------
    >>> from dpverify import hockey_stick
    >>> hockey_stick(NegativeBinomialPair("40", "0.5"), "0.3", digits=6).text
    '[1.08287e-6 +/- 4.13e-12]'
    """

    shape: Number = field(metadata={"within": "(0, inf)", "help": "r, in {}."})
    p: Number = field(metadata={"within": "(0, 1)", "help": "p, in {}: the larger, the more noise."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        r, p = as_ball(self.shape), as_ball(self.p)
        up, factor = direction is Direction.UP, epsilon.exp()
        # For y >= 1 the ratio f(y)/f(y-1) = p + p (r-1) / y passes the level that decides the sign of P - e^eps Q at
        # most once, at `crossing`. `head(t)` is the sum of P - e^eps Q over 1 <= y <= t, `rest(t)` that over y > t. At
        # y = 0 the shifted law has no mass.
        level = (-epsilon if up else epsilon).exp()

        def at_least(y: int) -> arb:
            return arb(1) if y == 0 else p.beta_lower(y, r, regularized=True)

        def below(y: int) -> arb:
            return arb(0) if y == 0 else (1 - p).beta_lower(r, y, regularized=True)

        def difference(unshifted: arb, shifted: arb) -> arb:
            return shifted - factor * unshifted if up else unshifted - factor * shifted

        def head(t: int) -> arb:
            return difference(below(t + 1) - below(1), below(t))

        def rest(t: int) -> arb:
            return difference(at_least(t + 1), at_least(t))

        at_zero = arb(0) if up else (1 - p) ** r
        if Fraction(self.shape) == 1:
            return at_zero + _positive_part(rest(0))
        if not (level > p or level < p):
            return arb.nan()
        # The ratio tends to p: below the level, the large y count upwards; above it, downwards.
        large_count = up == bool(level > p)
        crossing = p * (r - 1) / (level - p)
        return at_zero + _by_threshold(rest if large_count else head, crossing.max(arb(0)))


@dataclass(frozen=True)
class ThreeNBPair(Pair):
    """The two counts of the three-noise protocol: `(U, V) = (x + Z1 + Z3, Z2 + Z3)`, x = 1 against x = 0.

    Parameters
    ----------
    p : int, float, Fraction, Decimal or decimal string
        In (0, 1); Z1 and Z2 are NB(r, p).
    flood_shape, flood_p : int, float, Fraction, Decimal or decimal string
        r' > 0 and p' in (0, 1); Z3 is NB(r', p').
    shape : int, float, Fraction, Decimal or decimal string
        r > 0; other than 1 it is for little noise only, as every pair of counts up to 512 is listed.

    Notes
    -----
    For r = 1, with `g(u) = sum_{z<=u} f_{Z3}(z) p^{2(u-z)}`, so that `g(u) = p^2 g(u-1) + f_{Z3}(u)`, the law for x = 0
    is `(1-p)^2 p^{|u-v|} g(min(u, v))`. Where v < u, the ratio of x = 0 to x = 1 is p, on mass p/(1+p) and 1/(1+p).
    Where v >= u it depends on u alone, with masses `(1-p) g(u)` and `(1-p) p g(u-1)` at u. The sum of g is 1/(1-p^2).

    Examples
    --------
    >>> from dpverify import hockey_stick
    >>> hockey_stick(ThreeNBPair("0.8", "9", "0.99"), "0.1", digits=6).text
    '[0.0643685 +/- 1.92e-8]'
    """

    p: Number = field(metadata={"within": "(0, 1)", "help": "p of the noise, in {}: the larger, the more noise."})
    flood_shape: Number = field(metadata={"within": "(0, inf)", "help": "r', in {}."})
    flood_p: Number = field(metadata={"within": "(0, 1)", "help": "p', in {}."})
    shape: Number = field(
        default=1, metadata={"within": "(0, inf)", "help": "r of the noise, in {}; other than 1 for little noise only."}
    )

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        if Fraction(self.shape) != 1:
            return self._by_counts(epsilon.exp(), direction)
        p, r, flood_p = (as_ball(value) for value in (self.p, self.flood_shape, self.flood_p))
        up, factor = direction is Direction.UP, epsilon.exp()
        if up and factor * p >= 1:
            return arb(0)  # no ratio of x = 1 to x = 0 exceeds 1/p
        lesser, p_squared = p / (1 + p), p * p
        total = _positive_part(lesser / p - factor * lesser if up else lesser - factor * lesser / p)
        flood, before, left = (1 - flood_p) ** r, arb(0), 1 / (1 - p_squared)
        u = 0
        while True:
            here = p_squared * before + flood
            zero, one = (1 - p) * here, (1 - p) * p * before
            total += _positive_part(one - factor * zero if up else zero - factor * one)
            left -= here
            before = here
            flood *= flood_p * (u + r) / (u + 1)
            u += 1
            if u % 64 == 0:
                # What the first law has beyond: the sum of (1-p) g(v) over v >= u, or of (1-p) p g(v-1).
                beyond = _positive_part((1 - p) * (p * (left + before) if up else left)).upper()
                # `left`, a difference, is known to an absolute 2^-precision only: a smaller sum needs more bits.
                if beyond <= total * arb(2) ** (-ctx.prec // 2) or beyond <= arb(2) ** (-3 * ctx.prec // 4):
                    return total + beyond.union(arb(0))

    def _by_counts(self, factor: arb, direction: Direction) -> arb:
        p, r = as_ball(self.p), as_ball(self.shape)
        if direction is Direction.UP and factor * p * r.min(arb(1)) >= 1:
            return arb(0)  # the ratio of x = 1 to x = 0 is a mean of f(z-1)/f(z) = z / (p (z+r-1)), f that of Z1
        size = 16
        while True:
            # By the difference d of the counts, the law of the smaller one: a product of power series.
            own = _negative_binomial(r, p, 2 * size + 2)
            flood = arb_poly(_negative_binomial(as_ball(self.flood_shape), as_ball(self.flood_p), size))
            zero = [arb_poly([own[w] * own[w + d] for w in range(size)]) * flood for d in range(size + 2)]
            total, listed = arb(0), arb(0)
            for d in range(-size, size + 1):
                # The first count is one less: a d less by 1, and below 0 the smaller count with it.
                less, same = zero[abs(d - 1)], zero[abs(d)]
                for m in range(size):
                    p0, p1 = same[m], less[m] if d > 0 else less[m - 1] if m else arb(0)
                    first, second = (p1, p0) if direction is Direction.UP else (p0, p1)
                    total += _positive_part(first - factor * second)
                    listed += first
            beyond = _positive_part(1 - listed).upper()
            if beyond <= total * arb(2) ** (-ctx.prec // 2) or beyond <= arb(2) ** (-3 * ctx.prec // 4):
                return total + beyond.union(arb(0))
            size *= 2
            if size > _MOST_COUNTED:
                raise CapacityError(
                    f"p={self.p!r} and flood_p={self.flood_p!r} at shape={self.shape!r} need more than {_MOST_COUNTED} "
                    "values of each count; use less noise."
                )


def _negative_binomial(shape: arb, p: arb, size: int) -> list[arb]:
    """Return the first probabilities of NB(shape, p)."""
    pmf = [(1 - p) ** shape]
    for z in range(size - 1):
        pmf.append(pmf[-1] * p * (z + shape) / (z + 1))
    return pmf


@dataclass(frozen=True)
class DiscreteLaplacePair(Pair):
    """Discrete Laplace noise with pmf proportional to `p^|z|` on a sum of sensitivity 1.

    Parameters
    ----------
    p : int, float, Fraction, Decimal or decimal string
        In (0, 1): `e^(-epsilon)` for the largest privacy loss epsilon.

    Examples
    --------
    >>> from dpverify import hockey_stick
    >>> hockey_stick(DiscreteLaplacePair("0.6"), "0.3", digits=6).text
    '[0.118803 +/- 5.29e-8]'
    """

    p: Number = field(metadata={"within": "(0, 1)", "help": "The noise's pmf is proportional to p^|z|, in {}."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        # The loss is -ln p with probability 1/(1+p) and ln p with probability p/(1+p), in both directions.
        p = as_ball(self.p)
        gain, drop = (_positive_part(-(epsilon - loss).expm1()) for loss in (-p.log(), p.log()))
        return (gain + p * drop) / (1 + p)


@dataclass(frozen=True)
class GaussianPair(Pair):
    """Gaussian noise of standard deviation `sigma` on a sum of sensitivity 1.

    Parameters
    ----------
    sigma : int, float, Fraction, Decimal or decimal string
        In (0, inf).

    Notes
    -----
    `Phi(1/(2 sigma) - eps sigma) - e^eps Phi(-1/(2 sigma) - eps sigma)`, in both directions.

    Examples
    --------
    >>> from dpverify import hockey_stick
    >>> hockey_stick(GaussianPair("2"), "0.3", digits=6).text
    '[0.0963528 +/- 2.41e-8]'
    """

    sigma: Number = field(metadata={"within": "(0, inf)", "help": "The noise's standard deviation, in {}."})

    def enclose(self, epsilon: arb, direction: Direction) -> arb:  # noqa: D102
        sigma = as_ball(self.sigma)

        def normal_cdf(x: arb) -> arb:
            return (-x / arb(2).sqrt()).erfc() / 2

        half, shift = 1 / (2 * sigma), epsilon * sigma
        return normal_cdf(half - shift) - epsilon.exp() * normal_cdf(-half - shift)
