"""Which sum along a contour shows what a joint change reveals? Lines, cells and sizes that `contour_checker` needs.

What is here only chooses: whether the claim holds is decided by `dpverify.certificates.contour_checker` alone.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from dpverify.changes import Change, L2Bounded
from dpverify.claims.registry import mechanism_claims_of
from dpverify.guarantee import CapacityError, Number, ThreatModel, exact_number
from dpverify.planning import certificate
from dpverify.planning.contours.losses import Floats, Loss, Sum, short
from dpverify.planning.schedules.day import days_of
from dpverify.search import least_argument

__all__ = ["certificate_of", "contour_certificate"]

checker: Any = importlib.import_module("dpverify.certificates.contour_checker")  # untyped, as the checker is

_FINE = 32.0
"""How many nodes a standard deviation of one loss has: twice as many take twice the time."""
_FADED = 2e-3
"""The share of delta that is counted as lost at the largest losses."""
_SMOOTHING = 3e-4
"""What is added to the variance of the total loss, of it."""
_PIECES = 4
"""Into how many the datasets of either half are cut, a quarter as large towards the end."""
_STEP = 0.03
"""How far sizes are apart, of them, and of the size that all bits may move by."""
_SIZES = 14
"""How many are tried for a line."""
_FINER = 1
"""How many times grids of small moves are halved beyond those of moves that all bits may make."""


def contour_certificate(
    protocol: Any, *, delta: Number, squared_change: Number, instances: int = 1, honest: int | None = None
) -> dict[str, Any]:
    """Return a certificate of about the least epsilon that a sum along a contour can show.

    - protocol: Shuffled randomized response, negative binomial or Poisson noise; its parameters are certified as they
      print.
    - delta: In (0, 1). A decimal is certified as it is, another number as its float prints.
    - squared_change: At most what the squares of the changes of her bits' probabilities add up to.
    - instances: How many runs, at least 1.
    - honest: How many of the users follow the protocol; all when omitted.

    Returns: What `dpverify check` reads, as JSON: plain integers, strings and lists. Raises TypeError or ValueError for
    a protocol that has no such certificate, or an argument out of its range. Raises CapacityError if it would take more
    than the checker does, or delta is less than what no epsilon covers.

    Its rules are proved in docs/contour_certificates.md.
    """
    typed, share = certificate.typed_delta(delta)
    name = mechanism_claims_of(protocol).name
    if name not in checker.PROTOCOLS:
        raise TypeError(f"protocol={protocol!r} must be one of {', '.join(checker.PROTOCOLS)} for such a certificate.")
    found: dict[str, Any] = {"format": checker.FORMAT, "epsilon": "999", "delta": typed, "protocol": name}
    found |= {"instances": instances, "users": protocol.users, "honest": protocol.users if honest is None else honest}
    for field in checker.PROTOCOLS[name][1]:
        if field not in (*found, "cells", "pieces"):
            found[field] = repr(float(getattr(protocol, field)))
    tail = min(math.ceil(math.log2(instances / share)) + 16, 256)
    found |= {"bits": min(tail + 40, 256), "tail": tail}
    try:
        return _joint(found, share, squared_change)
    except (checker.Refused, ArithmeticError) as reason:
        raise CapacityError(f"No sum along a contour is within reach of the checker: {reason}") from None


def certificate_of(days: Sequence[Any], change: Change, adversary: ThreatModel, delta: str) -> dict[str, Any]:
    """Return the certificate of what a result is about: of joint changes, which have no other, a sum along a contour.

    See `dpverify.planning.certificate.certificate_of`.
    """
    entries = days_of(days)
    joint = isinstance(change, L2Bounded) and len(entries) == 1 and change.instances == entries[0].instances
    if not joint or adversary is not mechanism_claims_of(entries[0].protocol).adversaries(entries[0].protocol)[0]:
        return certificate.certificate_of(days, change, adversary, delta)
    assert isinstance(change, L2Bounded)
    (day,) = entries
    honest = None if day.honest is None else int(day.honest)
    along: dict[str, Any] = {"instances": day.instances, "honest": honest, "squared_change": change.squared_change}
    return contour_certificate(day.protocol, delta=delta, **along)


def _losses(found: dict[str, Any]) -> list[Loss]:
    """Return losses of one instance that are about the worst ones."""
    share, honest = Fraction(found["honest"], found["users"]), found["honest"]
    if found["protocol"] == "rr":
        return [_response(found, ones, honest - 1 - ones) for ones in (0, honest - 1)]
    line = checker.Line(found["bits"], 1, found["tail"], 1, [0, 1], 2, Decimal(1), Decimal(1), Decimal(1))
    shape, p, mean = (Fraction(found.get(name, 0)) for name in ("shape", "p", "mean"))
    masses = np.array([mass / line.one for mass in line.counts((shape * p + mean) * share, p)])
    after, before = np.append(0.0, masses), np.append(masses, 0.0)
    return [Loss.of(after, before), Loss.of(before, after)]


def _response(found: dict[str, Any], ones: int, zeros: int) -> Loss:
    p = float(found["flip_probability"])
    laws = []
    for number in (zeros, ones):
        reach = 14.0 * math.sqrt(number * p) + 60.0
        low, high = max(int(number * p - reach), 0), min(int(number * p + reach), number)
        laws.append(scipy.stats.binom.pmf(np.arange(low, high + 1), number, p))
    others = np.convolve(laws[0], laws[1][::-1])
    up, down = np.append(0.0, others), np.append(others, 0.0)
    return Loss.of((1.0 - p) * up + p * down, p * up + (1.0 - p) * down)


def _window(found: dict[str, Any], losses: Sequence[Loss], left_out: float) -> None:
    """Add the grid and the window of one loss."""
    deviation = max(math.sqrt(loss.tilted(0.0)[1]) for loss in losses)
    grid = min(max(math.ceil(math.log2(_FINE / deviation)), 1), 24)
    low, high = (max(sign * loss.end(sign, left_out) for loss in losses) for sign in (-1.0, 1.0))
    found |= {"grid": grid, "top": math.ceil(high * 2**grid) + 1}
    found["window"] = [-math.ceil(low * 2**grid) - 2, found["top"] + 3]


def _typed_epsilon(line: Any, logarithm: Any, lost: Any, delta: Decimal) -> str:
    """Return the least epsilon, rounded up to 8 digits, at which a sum and what is lost are at most delta."""
    if lost >= delta:
        raise CapacityError(f"delta={delta} is less than what no epsilon covers: there is no certificate.")
    with localcontext(checker.UP):
        gain = line.smoothing * line.tilt * (line.tilt + 1) / 2
        least = max((logarithm + gain - (delta - lost).ln()) / line.tilt, Decimal("1e-6"))
        found = least.quantize(Decimal(1).scaleb(least.adjusted() - 7))
        return format(found if line.delta(logarithm, found) + lost <= delta else found * (1 + Decimal("1e-9")), "f")


def _best(cost: Callable[[float], float], spread: float) -> tuple[float, float]:
    """Return about the tilt of the least cost, and that."""
    tried = np.linspace(math.log(0.3 / spread), math.log(60.0 / spread), 12)
    costs = [cost(float(log_tilt)) for log_tilt in tried]
    place = int(np.argmin(costs))
    low, high = float(tried[max(place - 1, 0)]), float(tried[min(place + 1, tried.size - 1)])
    best = least_argument(cost, low, high, steps=8)
    return math.exp(best), cost(best)


def _joint(found: dict[str, Any], delta: float, squared_change: Number) -> dict[str, Any]:
    square, times, losses = float(exact_number("squared_change", squared_change)), found["instances"], _losses(found)
    if not 0.0 < square <= times:
        raise ValueError(f"squared_change={squared_change} must be in (0, {times}].")
    found["squared_change"] = str(squared_change) if isinstance(squared_change, (str, Decimal)) else repr(square)
    each, most = math.sqrt(square / times), min(math.sqrt(square), 1.0)
    _window(found, losses, _FADED * delta / times)
    losses = [loss.below(found["top"] / 2 ** found["grid"]) for loss in losses]
    sizes = np.geomspace(0.5 * each, most, _SIZES)
    moves = [(size, loss.moved(kind, size)) for size in sizes for loss in losses for kind in (0, 1)]
    spread = math.sqrt(square * max(loss.tilted(0.0)[1] / size**2 for size, loss in moves if size >= each))

    def line_at(tilt: float) -> Sum:
        return Sum(tilt, math.sqrt(square * max(loss.tilted(tilt)[1] / size**2 for size, loss in moves)))

    def cost(log_tilt: float) -> float:
        line = line_at(math.exp(log_tilt))
        sums = [line.of(square / size**2 * loss.moduli(line.tilt, line.heights)) for size, loss in moves]
        spared = [times / square - 1.0 / size**2 for size, _ in moves]
        return (_price(np.array(sums), np.array(spared))[1] - math.log(delta)) / line.tilt

    tilt, _ = _best(cost, spread)
    found |= line_at(tilt).typed(_SMOOTHING)
    rates = [max(loss.tilted(tilt)[0] for at, loss in moves if at == size) for size in sizes]
    found["sizes"] = _sizes(each, most, lambda size: float(np.interp(size, sizes, rates)))
    found["finest"] = found["grid"] + math.floor(-math.log2(each)) + _FINER
    found["price"] = "0"
    _widen(found, moves)
    if "flip_probability" in found:
        _pieces(found)
    return _priced(found)


def _sizes(each: float, most: float, exponent: Callable[[float], float]) -> list[str]:
    """Return sizes close enough to each other for the exponents of moves."""
    found = [each * _STEP * i for i in range(1, round(1.0 / _STEP) + 1)]
    while found[-1] < most:
        found.append(found[-1] * (1.0 + _STEP / math.sqrt(1.0 + 2.0 * max(exponent(found[-1]), 0.0))))
    found[-1] = most
    return [short(size, 6) for size in found]


def _widen(found: dict[str, Any], moves: Sequence[tuple[float, Loss]]) -> None:
    """Make the window as wide as the moves' losses, each on its grid."""
    ends = [0, 0]
    for size, loss in moves:
        exponent = min(found["finest"], found["grid"] + (int(1.0 / size).bit_length() - 1))
        for side, sign in enumerate((-1.0, 1.0)):
            ends[side] = max(ends[side], math.ceil(max(sign * loss.end(sign, 1e-14), 0.0) * 2**exponent))
    low, high = found["window"]
    found["window"] = [min(low, -ends[0] - 2), max(high, ends[1] + 2)]


def _pieces(found: dict[str, Any]) -> None:
    """Add cells of the others' ones, narrower towards both ends, and some pieces of them."""
    honest = found["honest"]
    widths = [max(1, honest // 3000)]
    while sum(widths) < honest / 2:
        widths.append(max(1, math.ceil(sum(widths) / 40), honest // 3000))
    low = [0, *np.cumsum(widths)]
    low = [int(one) for one in low if one < honest / 2]
    cells = sorted({*low, *(honest - 1 - one for one in low)})
    cuts = np.array([0.0, *(0.5 * 0.25**i for i in range(_PIECES))])
    wanted = sorted({*(honest * cuts), *(honest * (1.0 - cuts[1:]))})
    pieces = sorted({0, *(max(one for one in cells if one <= start) for start in wanted)})
    found |= {"cells": cells, "pieces": pieces}


def _price(sums: Floats, spared: Floats) -> tuple[float, float]:
    """Return the price of small moves with the least largest sum, and about that."""
    tried = np.append(0.0, np.geomspace(1e-7, 1.0, 300)) / max(float(spared.max()), 1e-12)
    worst = [float((sums + price * spared).max()) for price in tried]
    place = int(np.argmin(worst))
    return float(tried[place]), worst[place]


def _priced(found: dict[str, Any]) -> dict[str, Any]:
    """Add the price of small moves, and the epsilon that it shows."""
    made, sums, lost, _ = checker.bounded(found)
    times, square = Decimal(found["instances"]), Decimal(found["squared_change"])
    with localcontext(checker.UP):
        sizes = [Decimal(size) for size in found["sizes"]] * (len(sums) // len(found["sizes"]))
        spared = [times / square - checker.DOWN.divide(1, size * size) for size in sizes]
        price = _price(np.array([float(one) for one in sums]), np.array([float(one) for one in spared]))[0]
        found["price"] = short(price, 6)
        most = max(one + Decimal(found["price"]) * each for one, each in zip(sums, spared, strict=True))
    return found | {"epsilon": _typed_epsilon(made, most, lost, Decimal(found["delta"]))}
