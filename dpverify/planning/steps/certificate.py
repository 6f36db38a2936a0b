"""Which certificate shows what noisy steps give? The grid, window and cells that `step_checker` needs.

What is here only chooses: whether the claim holds is decided by `dpverify.certificates.step_checker` alone.
"""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.guarantee import Adjacency, CapacityError, Number
from dpverify.planning.certificate import least_epsilon, typed_delta
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.step import NoiseLaw, NoisyStep, Steps

__all__ = ["step_certificate", "uncut"]

checker: Any = importlib.import_module("dpverify.certificates.step_checker")  # untyped: integers all through
_FINE = 2e-4
"""What nodes may add to the variance of the total loss, of it, and what wide cells may."""
_POINTS, _FEWEST, _MOST = 20_001, 12_288, 65_536
"""Of a rough law; and nodes of the window, unless more would be finer than the checker has."""
_SPARE, _BITS = 48, 176
"""Bits below the share of delta that a step has, and how many the checker has at most."""
_STEPS, _RATE = 10**9, 1e-90
"""How many steps, and how small a rate, the checker reads."""
_LEFT_OUT = 1e-5
"""The share of delta that windows may cut, at either end, and all steps together at the top."""
_SPREAD = 6e-4
"""What a grid of ratios may add to the variance of a pass, of it, unless a pass has too many steps for it."""
_RATIOS, _APART = 60_000, 64
"""How many nodes such a grid has at most; and one in so many is left where ratios are large."""
_TILTS = np.geomspace(1e-3, 1e5, 97)
Floats = np.ndarray[Any, np.dtype[np.float64]]


def step_certificate(steps: Steps, *, delta: Number) -> dict[str, Any]:
    """Return a certificate of the least epsilon that one can show for noisy steps.

    - steps: Each a `NoisyStep`, or a `RandomAllocation` where no record is replaced; numbers are certified as printed.
    - delta: In (0, 1): of everything together. A decimal is certified as it is, another number as its float prints.

    Returns: What `dpverify check` reads, as JSON: plain integers, strings and lists. Raises ValueError for a step, or
    an adjacency, that has no certificate. Raises CapacityError if it would take more than the checker does.

    Its rules are proved in docs/step_certificates.md.
    """
    found, share = uncut(steps, delta)
    entries = found["together"]
    laws = [
        _losses(entry, found["adjacency"])
        if isinstance(step, NoisyStep)
        else _listed(step, share * _LEFT_OUT / count, entry)
        for entry, (step, count) in zip(entries, _single(steps), strict=True)
    ]
    counts = [entry["steps"] for entry in entries]

    def total(t: float, at: int) -> tuple[float, float]:
        """Return the cumulant generating function of all losses together, and the variance of what is tilted."""
        parts = [_tilted(*law[at], t)[:2] for law in laws]
        return sum(n * one for n, (one, _) in zip(counts, parts, strict=True)), sum(
            n * one for n, (_, one) in zip(counts, parts, strict=True)
        )

    def far(sign: float, left: float) -> tuple[float, float]:
        """Return about which total loss is passed with so small a probability, by Chernoff's bound, and at which t."""
        worst = [min(((total(sign * t, at)[0] - math.log(left)) / t, t) for t in _TILTS) for at in (0, 1)]
        return max(worst)

    ends = [max(far(sign, share * _LEFT_OUT)[0], 0.0) for sign in (-1.0, 1.0)]
    tilt = far(1.0, share)[1]
    finest = math.sqrt(6.0 * _FINE * max(total(tilt, at)[1] for at in (0, 1)) / steps.number)
    widest = sum(ends)
    tops = [max(_top(*side, share * _LEFT_OUT / steps.number) for side in law) for law in laws]
    most = (checker.MOST_NODES - 4) / (1.25 * max(*ends, *tops))
    number = min(max(1.0 / finest, _FEWEST / widest), _MOST / widest, most)
    found["grid"] = grid = min(20, math.floor(math.log2(number)))
    if grid < 1:
        raise CapacityError("No certificate is within reach: the losses are too large for the checker's nodes.")
    each = 1.0 / math.log1p(2.0**-grid)  # nodes of a nat
    low, high = (math.ceil(end * each) + 2 for end in ends)
    found["window"] = [-low, high]
    for entry, law, top in zip(entries, laws, tops, strict=True):
        entry["cells"] = _cells(law, tilt, math.ceil(top * each) + 2, each)
    try:
        made, totals, claim, _ = checker.composed(found)
        epsilons = [least_epsilon(made, one, claim["delta"]) for one in totals]
    except (checker.Refused, ValueError) as reason:
        raise CapacityError(f"No certificate is within reach of the checker: {reason}") from None
    return found | {"epsilon": max(epsilons, key=Fraction)}


def uncut(steps: Steps, delta: Number) -> tuple[dict[str, Any], float]:
    """Return a certificate without the window, the grid and the cells, and delta; ValueError for what has none."""
    parts = _single(steps)
    number = sum(count * (step.steps if isinstance(step, RandomAllocation) else 1) for step, count in parts)
    typed, share = typed_delta(delta, math.ldexp(number, _SPARE - _BITS))
    bits = math.ceil(math.log2(number / share)) + _SPARE
    found = {"format": checker.FORMAT, "epsilon": "1000", "delta": typed, "adjacency": steps.adjacency.value}
    entries = [_entry(step, count, steps.adjacency.value) for step, count in parts]
    for entry, (step, count) in zip(entries, parts, strict=True):
        entry |= {} if isinstance(step, NoisyStep) else _grid(step, share * _LEFT_OUT / count)
    return found | {"bits": max(bits, 32), "together": entries}, share


def _single(steps: Steps) -> list[tuple[Any, int]]:
    """Return the steps, and how many of each; passes with a record in several steps as shorter ones with it in one."""
    found: list[tuple[Any, int]] = []
    for step, count in steps.parts:
        if not isinstance(step, RandomAllocation):
            found.append((step, count))
            continue
        size, longer = divmod(step.steps, step.chosen)
        for each, times in ((size, step.chosen - longer), *([(size + 1, longer)] if longer else [])):
            one = RandomAllocation(step.noise, each, step.law) if each > 1 else NoisyStep(step.noise, law=step.law)
            found.append((one, times * count))
    return found


def _grid(step: RandomAllocation, share: float) -> dict[str, Any]:
    """Return the grid of ratios for a pass: 2^-fine apart, where all but such a share of what is seen lies."""
    if step.law is NoiseLaw.LAPLACE:
        ends = -1.0 / step.noise, 1.0 / step.noise
        variance = (2.0 * math.exp(1.0 / step.noise) + math.exp(-2.0 / step.noise)) / 3.0 - 1.0
    else:
        reach = math.sqrt(-2.0 * math.log(share)) / step.noise
        ends = -reach - 0.5 / step.noise**2, reach + 0.5 / step.noise**2
        variance = math.expm1(min(step.noise**-2, 700.0))
    if ends[1] > 14.0:
        raise CapacityError(f"{step}, has ratios of e^{ends[1]:.3g}: too many for a certificate of random allocation.")
    low, high = (math.exp(end) for end in ends)
    sums = step.steps + math.sqrt(-2.0 * math.log(share) * step.steps * variance)
    most = math.log2(_RATIOS / (sums + high))
    finest = max(-0.5 * math.log2(6.0 * _SPREAD * variance), -math.log2(low) + 3.0, 0.0)
    # The largest loss of Laplace noise, which is likely in few steps, is as far off as a node is wide.
    fine = math.floor(min(most, finest + (5.0 if step.law is NoiseLaw.LAPLACE else 1.0)))
    if fine < 0 or 4.0**-fine > 0.1 * variance:
        raise CapacityError(f"{step}, are too many in a pass for a certificate of random allocation.")
    ratios, last = [math.floor(math.ldexp(low, fine))], math.ceil(math.ldexp(high, fine))
    while ratios[-1] < last:
        ratios.append(ratios[-1] + max(1, (ratios[-1] >> fine) // 4 and ratios[-1] // _APART))
    return {"fine": fine, "ratios": ratios, "top": ratios[-1] + math.ceil(math.ldexp(sums, fine))}


def _listed(step: RandomAllocation, share: float, entry: dict[str, Any]) -> list[tuple[Floats, Floats]]:
    """Return losses of a pass and their logarithmic probabilities, of both directions, rounded."""
    pairs, _ = step.pair(Adjacency.ADD_REMOVE, share).listed()
    # The grid of ratios goes beyond the largest loss of Laplace noise, which is likely in few steps.
    first, *_, last = entry["ratios"]
    ends = (abs(math.log(math.ldexp(max(1, ratio), -entry["fine"]))) for ratio in (first, last))
    wider = max(ends) * step.noise if step.law is NoiseLaw.LAPLACE else 1.0
    return [(pair.losses * wider, np.log(pair.masses / pair.masses.sum())) for pair in pairs]


def _entry(step: Any, count: int, adjacency: str) -> dict[str, Any]:
    """Return the fields of an entry but its cells, and a grid of ratios."""
    if not isinstance(step, (NoisyStep, RandomAllocation)):
        raise ValueError(f"{step}, has no certificate: a NoisyStep and a RandomAllocation have.")
    once = isinstance(step, RandomAllocation)
    if once and adjacency == Adjacency.REPLACE_ONE:
        raise ValueError(f"adjacency={adjacency} has no certificate of random allocation.")
    if count > _STEPS:
        raise ValueError(f"steps={count} must be at most {_STEPS:,} for a certificate.")
    if step.rate < _RATE:
        raise ValueError(f"rate={step.rate!r} must be at least {_RATE:g} for a certificate.")
    moves = 1 if once else checker.moves(adjacency, step.law.value, step.sampling.value, step.rate)
    if not moves / 40 <= step.noise <= moves * 1e9:
        raise ValueError(f"noise={step.noise!r} must be from {moves / 40:g} to {moves * 1e9:g} for a certificate.")
    found: dict[str, Any] = {"law": step.law.value, "noise": repr(float(step.noise)), "sensitivity": "1"}
    if isinstance(step, RandomAllocation):
        return found | {"pass": step.steps, "steps": count}
    return found | {"sampling": step.sampling.value, "rate": repr(float(step.rate)), "steps": count}


def _losses(entry: dict[str, Any], adjacency: str) -> list[tuple[Floats, Floats]]:
    """Return losses of one step and their logarithmic probabilities, of both directions, rounded."""
    noise, q = float(checker.entry_of(entry | {"cells": [0, 1]}, adjacency)[0][1]), float(entry["rate"])
    opposite = adjacency == "replace-one" and entry["sampling"] == "poisson" and q < 1.0
    if entry["law"] == NoiseLaw.GAUSSIAN:
        at = np.linspace(-1.0 - 13.0 * noise, 1.0 + 13.0 * noise, _POINTS)
        plain, loss = -0.5 * (at / noise) ** 2, (at - 0.5) / noise**2
    else:
        at = np.linspace(0.0, 1.0, _POINTS)
        plain, loss = -at / noise, (2.0 * at - 1.0) / noise
        step = (at[1] - at[0]) / noise
        plain[0], plain[-1] = math.log(1.0 / step), plain[-1] - math.log(step)
    plain = plain - np.logaddexp.reduce(plain)
    with np.errstate(divide="ignore"):
        loss = np.logaddexp(np.log1p(-q), math.log(q) + loss)
    if opposite:
        first, loss = plain + loss, loss - loss[::-1]
        return [(loss, first), (loss, first)]
    return [(loss, plain + loss), (-loss, plain)]


def _tilted(losses: Floats, logs: Floats, t: float) -> tuple[float, float, Floats]:
    """Return ln E e^(t L), and the variance and probabilities of what is tilted."""
    weights = logs + t * losses
    whole = float(np.logaddexp.reduce(weights))
    shares = np.exp(weights - whole)
    mean = float(shares @ losses)
    return whole, float(shares @ (losses - mean) ** 2), shares


def _top(losses: Floats, logs: Floats, share: float) -> float:
    """Return a loss that is passed with so small a probability."""
    order = np.argsort(-losses)
    beyond = np.cumsum(np.exp(logs[order]))
    return max(float(losses[order][np.searchsorted(beyond, share)]), 0.0)


def _cells(law: list[tuple[Floats, Floats]], tilt: float, top: int, grid: float) -> list[int]:
    """Return where cells begin and end: every node where losses are likely, once tilted, and fewer beyond."""
    sides = []
    for losses, logs in law:
        _, variance, shares = _tilted(losses, logs, tilt)
        order = np.argsort(np.abs(losses))
        sides.append((np.abs(losses)[order], np.cumsum(shares[order][::-1])[::-1], variance))
    found, k, least = [0], 0, max(1, top // _FEWEST)
    while k < top:
        beyond = [
            float(mass[min(int(np.searchsorted(sizes, k / grid)), mass.size - 1)]) / variance
            for sizes, mass, variance in sides
        ]
        width = min(math.sqrt(0.1 * _FINE / max(*beyond, 1e-30)) * grid, max(1.0, grid / tilt), max(1.0, k / 8))
        k = min(top, k + max(least, int(width)))
        found.append(k)
    return [*(-k for k in found[:0:-1]), *found]
