"""What a client does for one instance of a protocol: a kind of steps that clients know, its settings and its tables.

Eight kinds are enough: a `report` among choices, `counts` of messages, counts in `buckets`, a `vector` of which some
coordinates are reported, `unary` counts of a rotated one's integers, the filter of a string, `bloom`, and of a number a
`sum` of messages, or `shares`.
docs/collection.md lists their steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from dpverify.collection.rotations.turned import Turned
from dpverify.collection.tables import Table, coin, negative_binomial, others, poisson, uniform_charge
from dpverify.guarantee import ThreatModel
from protocols.bitsum import (
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.bitsum.negative_binomial import Estimate, SingleNoise
from protocols.classes.frozen import dataclass
from protocols.histogram import BucketSums, Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.rappor.response import Rappor
from protocols.selection import Selection
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix, SumProtocol, UnarySum
from protocols.sums.vectors import UnaryVectorSum
from protocols.validation import check_integer, check_real
from protocols.vector_sum import VectorSum

__all__ = ["Recipe", "cut_draws", "randomizers", "recipe_of", "unary_recipe"]

_PRECISION = 512


@dataclass(frozen=True)
class Recipe:
    """What a client needs for one instance.

    Parameters
    ----------
    kind : str
        Which steps.
    settings : dict
        What else they need, as JSON.
    tables : dict of str to Table
        By the names that the steps have for them.
    charge : Fraction
        s: what two inputs of a user lead to is, with weight 1 - s, what the tables draw, as for `Table`.
    """

    kind: str
    settings: dict[str, Any]
    tables: dict[str, Table] = field(default_factory=dict)
    charge: Fraction = Fraction(0)


def cut_draws(protocol: Any) -> int:
    """Return how many draws of one instance are of unbounded variables and tell two inputs of a user apart."""
    if isinstance(protocol, BucketSums):
        return 2  # of the two buckets that she moves between: the others' messages are the same whatever she holds
    if isinstance(protocol, (ThreeNB, Pure)):
        return 3
    if isinstance(protocol, UnaryVectorSum):
        return 2 * protocol.dimension + 1  # of all counts, and of all of them together
    if isinstance(protocol, SplitAndMix):
        return 2
    return int(isinstance(protocol, (SingleNoise, UnarySum)))


def randomizers(protocol: Any, honest: int | None, adversary: ThreatModel) -> int:
    """Return of how many users the randomizer matters: who sees each user's messages learns nothing from others'."""
    return 1 if adversary is ThreatModel.LOCAL else int(protocol.users if honest is None else honest)


def recipe_of(protocol: Any, tail: Fraction) -> Recipe:
    """Return the recipe of a protocol, in which the noise of one draw is cut where `tail` of it is left.

    Parameters
    ----------
    protocol : object
        One of those that have clients.
    tail : Fraction
        Positive where there are `cut_draws`.

    Raises
    ------
    TypeError, ValueError
        For another protocol, or one that samples a subset of coordinates without strata.
    CapacityError
        If a table would be too long.
    """
    if isinstance(protocol, UnaryVectorSum):
        raise TypeError(f"protocol={protocol!r} must have signs for a client: see `unary_recipe`.")
    make = _RECIPES.get(type(protocol))
    if make is None:
        known = ", ".join(kind.__name__ for kind in _RECIPES)
        raise TypeError(f"protocol={protocol!r} must be one that has a client: {known}.")
    return make(protocol, tail)


def _flips(protocol: RandomizedResponse, tail: Fraction) -> Recipe:
    return Recipe("report", {"choices": 2}, {"shift": others(2, Fraction(protocol.flip_probability))})


def _labels(protocol: LabelRandomizedResponse, tail: Fraction) -> Recipe:
    with ctx.workprec(_PRECISION):
        other = 1 / (arb(protocol.epsilon).exp() + (protocol.classes - 1))
    return Recipe("report", {"choices": protocol.classes}, {"shift": others(protocol.classes, other)})


def _noise(protocol: SingleNoise | SumProtocol, tail: Fraction) -> Table:
    if isinstance(protocol, (NegativeBinomial, NegativeBinomialSum, SplitAndMix)):
        return negative_binomial(Fraction(protocol.shape) / protocol.users, Fraction(protocol.p), tail)
    assert isinstance(protocol, (Poisson, PoissonSum))
    return poisson(Fraction(protocol.mean) / protocol.users, tail)


def _single(protocol: SingleNoise, tail: Fraction) -> Recipe:
    noise = _noise(protocol, tail)
    counted = int(protocol.estimate is not Estimate.UNDER)
    return Recipe("counts", {"counted": counted}, {"noise": noise}, noise.charge)


def _flooded(protocol: ThreeNB, tail: Fraction) -> Recipe:
    users = protocol.users
    noise = negative_binomial(Fraction(protocol.shape) / users, Fraction(protocol.p), tail)
    flood = negative_binomial(Fraction(protocol.flood_shape) / users, Fraction(protocol.flood_p), tail)
    return Recipe("counts", {"counted": 1}, {"noise": noise, "flood": flood}, 2 * noise.charge + flood.charge)


def _dropped(protocol: Pure, tail: Fraction) -> Recipe:
    made, drop = _flooded(protocol.noise, tail), coin(Fraction(protocol.drop_probability))
    return Recipe(made.kind, made.settings, {"drop": drop, **made.tables}, made.charge + drop.charge)


def _buckets(protocol: BucketSums, tail: Fraction) -> Recipe:
    noise = _noise(protocol.bitsum, tail)
    return Recipe("buckets", {"buckets": protocol.buckets}, {"noise": noise}, 2 * noise.charge)


def _numbers(protocol: UnarySum | SplitAndMix, tail: Fraction) -> Recipe:
    """Return the recipe of a number: rounding is exact for what a client takes it for, another one in the range."""
    ends = {name: getattr(protocol, name) for name in ("smallest", "largest")}
    for name, end in ends.items():
        check_real(name, end, low=-(2.0**53), high=2.0**53)
    check_integer("steps", protocol.levels, high=2**31 - 2**17)  # with noise, what clients write in 31 bits
    shown = {name: str(end) if isinstance(end, int) else format(Decimal(repr(end)), "f") for name, end in ends.items()}
    settings = {**shown, "levels": protocol.levels, "real": protocol.steps is not None}
    noise, draws = _noise(protocol, tail), cut_draws(protocol)
    if isinstance(protocol, UnarySum):
        return Recipe("sum", settings, {"noise": noise}, draws * noise.charge)
    if protocol.modulus.bit_count() != 1 or protocol.modulus > 2**31:
        raise ValueError(f"modulus={protocol.modulus} must be a power of two up to 2^31 for a client.")
    shares = {"modulus": protocol.modulus, "shares": protocol.shares}
    return Recipe("shares", {**settings, **shares}, {"noise": noise}, draws * noise.charge)


def _vector(protocol: VectorSum, tail: Fraction) -> Recipe:
    if not protocol.stratified and protocol.sampled not in (1, protocol.dimension):
        raise ValueError(
            f"stratified=False must be True for a client that samples {protocol.sampled} of {protocol.dimension} "
            "coordinates: blocks have one each."
        )
    check_integer("levels", protocol.levels, high=2**31 - 1)  # what clients multiply by
    if protocol.sampled == protocol.dimension:
        blocks = [1] * protocol.dimension
    else:
        blocks = [block.size for block in protocol.blocks]
    replaced = coin(Fraction(protocol.blanket_probability))
    # What rounds a coordinate is off by 2^-128 at most, which is another coordinate in [0, 1]: nothing to charge.
    each = replaced.charge + uniform_charge(protocol.levels + 1)
    charge = len(blocks) * each + sum(map(uniform_charge, blocks))
    return Recipe("vector", {"blocks": blocks, "levels": protocol.levels}, {"replaced": replaced}, Fraction(charge))


def unary_recipe(turned: Turned, tail: Fraction) -> Recipe:
    """Return the recipe of a sum of vectors, whose noise is drawn again where all counts together have too much of it.

    With `(1 - s) r <= q` of all draws, and q of too much noise at most `tail`, r of it is at most `tail / (1 - s)`: so
    that of what is drawn again, r / (1 - that), `(1 - s - tail)` is at most q.
    """
    protocol, size = turned.protocol, 2 * turned.protocol.dimension
    each, most = _noise(protocol.noise, tail), len(_noise(turned.together, tail).thresholds)
    settings = {
        "coordinates": protocol.dimension,
        "factor": turned.factor,
        "limit": turned.limit,
        "most": turned.most,
        "noise": most,
        "messages": turned.own + most,
    }
    # Of the table with all noise, 2^16 outcomes at most have less than 2^-128, and were left out.
    return Recipe("unary", settings, {"noise": each}, size * each.charge + tail + Fraction(1, 2**112))


def _bloom(protocol: Rappor, tail: Fraction) -> Recipe:
    settings = {name: getattr(protocol, name) for name in ("bits", "hashes", "cohorts", "reports")}
    tables = {
        "flip": coin(Fraction(protocol.f) / 2),
        "zero": coin(Fraction(protocol.p)),
        "one": coin(Fraction(protocol.q)),
    }
    # The cohort is public and has nothing to do with the value: of which law it is drawn does not matter.
    per_bit = tables["flip"].charge + protocol.reports * (tables["zero"].charge + tables["one"].charge)
    return Recipe("bloom", settings, tables, protocol.bits * per_bit)


_RECIPES: dict[type, Callable[[Any, Fraction], Recipe]] = {
    RandomizedResponse: _flips,
    LocalRandomizedResponse: _flips,
    NegativeBinomial: _single,
    Poisson: _single,
    ThreeNB: _flooded,
    Pure: _dropped,
    Histogram: _buckets,
    Selection: _buckets,
    VectorSum: _vector,
    LabelRandomizedResponse: _labels,
    Rappor: _bloom,
    PoissonSum: _numbers,
    NegativeBinomialSum: _numbers,
    SplitAndMix: _numbers,
}
