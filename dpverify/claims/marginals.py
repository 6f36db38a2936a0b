"""Exact laws of what a bitsum implementation puts out, number by number: its estimate, and each count of its view.

Unlike the joint law of a view with two counts, these stay small for any amount of noise.
"""

from __future__ import annotations

from functools import reduce, singledispatch

import numpy as np

from dpverify.claims.laws import estimate_law, view_law
from dpverify.laws import integer as laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.integer import IntegerLaw
from protocols.bitsum import BitsumProtocol, Pure, ThreeNB

__all__ = ["marginals"]

_TAIL = 1e-18


def marginals(protocol: BitsumProtocol, ones: int, participants: int | None = None) -> dict[str, DiscreteLaw]:
    """Return the exact laws of the estimate, and of each count of the view that the others do not fix.

    Parameters
    ----------
    protocol : BitsumProtocol
        A protocol whose estimate is discrete.
    ones : int
        The number of ones among the participants.
    participants : int, optional
        How many of the n users take part; all when omitted.

    Returns
    -------
    dict of str to DiscreteLaw
        "estimate", then such as "count of +1".

    Raises
    ------
    TypeError
        For a protocol without a discrete law.
    """
    present = protocol.users if participants is None else participants
    estimate = estimate_law(protocol, ones, participants=participants)
    return {"estimate": estimate, **_counts(protocol, ones, present)}


@singledispatch
def _counts(protocol: BitsumProtocol, ones: int, participants: int) -> dict[str, DiscreteLaw]:
    if not protocol.alphabet:
        return {}
    view = view_law(protocol, ones, participants=participants)
    return {f"count of {protocol.alphabet[-1]:+d}": view.image(lambda rows: rows[:, -1])}


@_counts.register
def _(protocol: ThreeNB, ones: int, participants: int) -> dict[str, DiscreteLaw]:
    bits = IntegerLaw(ones, np.ones(1), 0.0, 0.0, 0.0)
    return _two_counts(bits, protocol, participants)


@_counts.register
def _(protocol: Pure, ones: int, participants: int) -> dict[str, DiscreteLaw]:
    kept = laws.binomial(ones, protocol.drop_probability, _TAIL).mirrored(ones)
    return _two_counts(kept, protocol.noise, participants)


def _two_counts(bits: IntegerLaw, noise: ThreeNB, participants: int) -> dict[str, DiscreteLaw]:
    if participants == 0:
        return {name: DiscreteLaw.of([0], [1.0]) for name in ("count of +1", "count of -1")}
    share = participants / noise.users
    own = laws.negative_binomial(noise.shape * share, noise.p, _TAIL)
    flood = laws.negative_binomial(noise.flood_shape * share, noise.flood_p, _TAIL)
    return {"count of +1": _sum(bits, own, flood), "count of -1": _sum(own, flood)}


def _sum(*parts: IntegerLaw) -> DiscreteLaw:
    pmf = reduce(np.convolve, [part.pmf for part in parts])
    outside = sum(part.tail_below + part.tail_above for part in parts)
    return DiscreteLaw.of(sum(part.start for part in parts) + np.arange(pmf.size), pmf, min(1.0, outside))
