"""The exact laws of what a binary-sum protocol shows: of its view, and of the analyzer's estimate.

What the audits test samples against. The noise pieces of the m users who take part add up to m/n of the total noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from dpverify.laws import integer as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.integer import IntegerLaw
from dpverify.rounding import UNIT
from protocols.bitsum.base import BitsumProtocol
from protocols.bitsum.baselines import CentralDiscreteGaussian, CentralDiscreteLaplace
from protocols.bitsum.negative_binomial import Estimate, NegativeBinomial, SingleNoise
from protocols.bitsum.poisson import Poisson
from protocols.bitsum.pure import Pure
from protocols.bitsum.randomized_response import RandomizedResponse
from protocols.bitsum.three_nb import ThreeNB
from protocols.validation import check_integer

__all__ = ["estimate_law", "view_law"]

_TAIL = 1e-18
_MOST_CELLS = 2**22


def estimate_law(protocol: BitsumProtocol, ones: int, *, participants: int | None = None) -> DiscreteLaw:
    """Return the exact law of the analyzer's estimate.

    Parameters
    ----------
    protocol : BitsumProtocol
        A protocol whose estimate is discrete.
    ones : int
        How many of the participants hold 1.
    participants : int, optional
        How many users take part; all when omitted.

    Raises
    ------
    TypeError
        For a protocol without a discrete law here.
    """
    law = _readable(protocol, *_check(protocol, ones, participants))
    return law.image(protocol.analyze)


def view_law(protocol: BitsumProtocol, ones: int, *, participants: int | None = None) -> DiscreteLaw:
    """Return the exact law of the shuffled view, its points the rows that `sample_view` draws.

    The parameters are those of `estimate_law`.

    Raises
    ------
    ValueError
        Where the view has two free counts and their box has more than 2^22 cells: audit the estimate instead.
    """
    return _view(protocol, *_check(protocol, ones, participants))


def _check(protocol: BitsumProtocol, ones: int, participants: int | None) -> tuple[int, int]:
    taking_part = protocol.users if participants is None else check_integer("participants", participants, low=0)
    return check_integer("ones", ones, low=0, high=taking_part), taking_part


@singledispatch
def _readable(protocol: BitsumProtocol, ones: int, participants: int) -> DiscreteLaw:
    """Return a law of views of which the analyzer makes the estimates of the true law."""
    raise TypeError(f"protocol={protocol!r} has no discrete law here.")


@singledispatch
def _view(protocol: BitsumProtocol, ones: int, participants: int) -> DiscreteLaw:
    return _readable(protocol, ones, participants)


@_readable.register
def _(protocol: RandomizedResponse, ones: int, participants: int) -> DiscreteLaw:
    p = protocol.flip_probability
    reported = _sum(laws.binomial(ones, p, _TAIL).mirrored(ones), laws.binomial(participants - ones, p, _TAIL))
    return _rows(reported, lambda k: np.stack([participants - k, k], axis=-1))


@_readable.register
def _(protocol: SingleNoise, ones: int, participants: int) -> DiscreteLaw:
    counted = participants - ones if protocol.estimate is Estimate.UNDER else ones
    return _rows(_noise(protocol, participants / protocol.users), lambda z: (counted + z)[:, np.newaxis])


@_readable.register
def _(protocol: ThreeNB, ones: int, participants: int) -> DiscreteLaw:
    return _rows(_difference(protocol, participants), lambda z: _with_difference(ones + z))


@_readable.register
def _(protocol: Pure, ones: int, participants: int) -> DiscreteLaw:
    kept = laws.binomial(ones, protocol.drop_probability, _TAIL).mirrored(ones)
    return _rows(_sum(kept, _difference(protocol.noise, participants)), _with_difference)


@_readable.register
def _(protocol: CentralDiscreteLaplace, ones: int, participants: int) -> DiscreteLaw:
    return _rows(_discrete_laplace(protocol.p), lambda z: (ones + z)[:, np.newaxis])


@_readable.register
def _(protocol: CentralDiscreteGaussian, ones: int, participants: int) -> DiscreteLaw:
    return _rows(laws.discrete_gaussian(protocol.sigma, _TAIL), lambda z: (ones + z)[:, np.newaxis])


@_view.register
def _(protocol: ThreeNB, ones: int, participants: int) -> DiscreteLaw:
    return _two_counts(_point(ones), protocol, participants)


@_view.register
def _(protocol: Pure, ones: int, participants: int) -> DiscreteLaw:
    kept = laws.binomial(ones, protocol.drop_probability, _TAIL).mirrored(ones)
    return _two_counts(kept, protocol.noise, participants)


@singledispatch
def _noise(protocol: SingleNoise, share: float) -> IntegerLaw:
    raise TypeError(f"protocol={protocol!r} has no discrete law here.")


@_noise.register
def _(protocol: NegativeBinomial, share: float) -> IntegerLaw:
    return _negative_binomial(protocol.shape * share, protocol.p)


@_noise.register
def _(protocol: Poisson, share: float) -> IntegerLaw:
    return laws.poisson(protocol.mean * share, _TAIL)


def _point(at: int) -> IntegerLaw:
    return IntegerLaw(at, np.ones(1), 0.0, 0.0, 0.0)


def _negative_binomial(shape: float, p: float) -> IntegerLaw:
    return laws.negative_binomial(shape, p, _TAIL) if shape > 0.0 else _point(0)


def _discrete_laplace(p: float) -> IntegerLaw:
    return laws.discrete_laplace(-math.log(p), _TAIL) if p > 0.0 else _point(0)


def _difference(protocol: ThreeNB, participants: int) -> IntegerLaw:
    """Return the law of Z1 - Z2."""
    shape = protocol.shape * (participants / protocol.users)
    if shape == 1.0:
        return _discrete_laplace(protocol.p)
    noise = _negative_binomial(shape, protocol.p)
    return _sum(noise, noise.mirrored())


def _sum(a: IntegerLaw, b: IntegerLaw) -> IntegerLaw:
    """Return the law of the sum of independent variables; it is missing at most the tails of both."""
    pmf = np.convolve(a.pmf, b.pmf)
    error = a.relative_error + b.relative_error + (min(a.pmf.size, b.pmf.size) + 4.0) * UNIT
    return IntegerLaw(a.start + b.start, pmf, error, a.tail_below + b.tail_below, a.tail_above + b.tail_above)


def _with_difference(difference: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows (number of +1, number of -1) of these differences: all that the analyzer reads."""
    return np.stack([np.maximum(difference, 0), np.maximum(-difference, 0)], axis=-1)


def _rows(law: IntegerLaw, row: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> DiscreteLaw:
    return DiscreteLaw.of(row(law.support), law.pmf, min(1.0, law.tail_below + law.tail_above))


def _two_counts(bits: IntegerLaw, noise: ThreeNB, participants: int) -> DiscreteLaw:
    """Return the law of (B + Z1 + Z3, Z2 + Z3)."""
    share = participants / noise.users
    own = _negative_binomial(noise.shape * share, noise.p)
    flood = _negative_binomial(noise.flood_shape * share, noise.flood_p)
    up = _sum(bits, own)
    sides = (up.pmf.size + flood.pmf.size - 1, own.pmf.size + flood.pmf.size - 1)
    if sides[0] * sides[1] > _MOST_CELLS:
        raise ValueError(f"the two counts span {sides[0]} x {sides[1]} cells, but at most {_MOST_CELLS} are allowed.")
    table, block = np.zeros(sides), np.outer(up.pmf, own.pmf)
    for z, mass in enumerate(flood.pmf):
        table[z : z + up.pmf.size, z : z + own.pmf.size] += mass * block
    u, v = np.nonzero(table > 0)
    outside = sum(law.tail_below + law.tail_above for law in (up, own, flood))
    points = np.stack([u + up.start + flood.start, v + own.start + flood.start], axis=-1)
    return DiscreteLaw(points, table[u, v], min(1.0, outside))
