"""Laws of one user's draws as tables of integers, from which a client draws without any arithmetic on floats.

A table has thresholds `T_1 <= T_2 <= ...`, and a draw is how many of them are at most U, uniform on 128 bits: outcome
k has a probability `r_k` that is a multiple of 2^-128. The true law q is enclosed by Arb, and a table comes with a
proved `charge` s, such that `(1 - s) r_k <= q_k` for every k: the true law is a mixture of the table's, with weight
1 - s, and of something else. docs/collection.md says what that costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

from flint import arb, ctx, fmpq

from dpverify.guarantee import CapacityError
from protocols.classes.frozen import dataclass

__all__ = ["BITS", "MOST", "Table", "coin", "negative_binomial", "others", "poisson", "probabilities", "uniform_charge"]

BITS = 128
"""Of a uniform integer that one draw takes."""
MOST = 2**16
"""How many thresholds a table may have."""
_GUARD = 64
"""So many bits more than a threshold has are known of a probability."""
_PRECISION = 512
_ONE, _FINE = 1 << BITS, 1 << (BITS + _GUARD)


@dataclass(frozen=True)
class Table:
    """The law of a draw from a client.

    Parameters
    ----------
    thresholds : tuple of int
        In [0, 2^128), in rising order.
    charge : Fraction
        s in [0, 1).
    """

    thresholds: tuple[int, ...]
    charge: Fraction

    @property
    def weights(self) -> list[int]:
        """The probability of 0, 1, ... up to the number of thresholds, times 2^128."""
        ends = (0, *self.thresholds, _ONE)
        return [above - below for below, above in pairwise(ends)]

    def to_list(self) -> list[str]:
        """Return the thresholds as texts of 32 hexadecimal digits each."""
        return [f"{threshold:032x}" for threshold in self.thresholds]


def _table(masses: list[int]) -> Table:
    """Return the table of a law whose probabilities, times 2^192, are at least these integers: see docs/collection.md.

    What tails and rounding leave out is given to all outcomes in proportion, so that no unlikely one gains much.
    """
    missing = -(-(_FINE - sum(masses)) >> _GUARD)
    for short in (0, missing + len(masses)):
        weights = [(mass << BITS) // ((_ONE - short) << _GUARD) for mass in masses] if short < _ONE else [0]
        excess = sum(weights) - _ONE
        if excess >= 0:
            weights[weights.index(max(weights))] -= excess
            return _of_weights(weights, Fraction(short, _ONE))
    raise ValueError("masses must add up to more than 2^-100.")


def _of_weights(weights: list[int], charge: Fraction) -> Table:
    if sum(weights) != _ONE or min(weights) < 0:
        raise ArithmeticError("weights must be at least 0 and add up to 2^128: please report this as a bug.")
    return Table(tuple(end for end in accumulate(weights[:-1]) if end < _ONE), charge)


def _fine(mass: arb) -> int:
    """Return the lower end of a probability, times 2^192, rounded down."""
    return max(_whole((mass * _FINE).lower().floor()), 0)


def _whole(number: arb) -> int:
    found = number.unique_fmpz()
    if found is None:
        raise ArithmeticError(f"{number} must be an integer: please report this as a bug.")
    return int(found)


def _arb(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def coin(probability: Fraction) -> Table:
    """Return the table of 1 with a probability in [0, 1), and else 0; exact for every float of at least 2^-75."""
    one = (probability.numerator * _FINE) // probability.denominator
    zero = ((probability.denominator - probability.numerator) * _FINE) // probability.denominator
    return _table([zero, one])


def others(choices: int, other: arb | Fraction) -> Table:
    """Return the table of how far a report is from the truth, modulo the choices: each other one has one probability.

    It is rounded up to a multiple of 2^-128, so that the law is that of a randomized response with a smaller epsilon,
    from whose reports those of the true one cannot be told better: nothing is charged.

    Parameters
    ----------
    choices : int
        In [2, 65537].
    other : arb or Fraction
        Of each choice that is not the truth; at most 1 / choices.
    """
    _check_size(choices - 1)
    with ctx.workprec(_PRECISION):
        scaled = (_arb(other) if isinstance(other, Fraction) else other) * _ONE
        weight = min(_whole(scaled.upper().ceil()), _ONE // choices)
    return _of_weights([_ONE - (choices - 1) * weight] + [weight] * (choices - 1), Fraction(0))


def poisson(mean: Fraction, tail: Fraction) -> Table:
    """Return the table of a Poisson variable, cut where what is left out has at most a probability `tail`."""
    return _cut(_poisson(mean), tail)


def negative_binomial(shape: Fraction, p: Fraction, tail: Fraction) -> Table:
    """Return the table of NB(shape, p), of pmf `C(z+r-1, z) (1-p)^r p^z`, cut as `poisson` is."""
    return _cut(_negative_binomial(shape, p), tail)


def _poisson(mean: Fraction) -> Iterator[arb]:
    rate = _arb(mean)
    mass, k = (-rate).exp(), 0
    while True:
        yield mass
        k += 1
        mass = mass * rate / k


def _negative_binomial(shape: Fraction, p: Fraction) -> Iterator[arb]:
    ratio, size = _arb(p), _arb(shape)
    mass, z = (1 - ratio) ** size, 0
    while True:
        yield mass
        mass = mass * ratio * (size + z) / (z + 1)
        z += 1


def _cut(law: Iterator[arb], tail: Fraction) -> Table:
    """Return the table of the first outcomes, of which all others have the probability `tail` at most."""
    masses, total, wanted = list[int](), 0, _FINE - int(tail * _FINE)
    with ctx.workprec(_PRECISION):
        for mass in law:
            masses.append(_fine(mass))
            total += masses[-1]
            if total >= wanted or total == _FINE:
                return _table(masses)
            _check_size(len(masses))
    raise AssertionError


def _check_size(thresholds: int) -> None:
    if thresholds > MOST:
        raise CapacityError(f"A table of {thresholds} thresholds is needed, but at most {MOST} are made.")


def uniform_charge(choices: int) -> Fraction:
    """Return s of `floor(U choices / 2^128)`: no outcome is likelier than 1 / choices by more than 2^-128."""
    return Fraction(0) if _ONE % choices == 0 else Fraction(choices, _ONE)


def probabilities(thresholds: Sequence[str]) -> list[float]:
    """Return the probability of each outcome of a table in a manifest, as the nearest float."""
    edges = [0, *(int(threshold, 16) for threshold in thresholds), _ONE]
    return [(after - before) / _ONE for before, after in pairwise(edges)]
