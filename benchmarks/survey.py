"""Which strategy of `FamilyComposition` decides an account: a survey over protocols, users, noise, instances and delta.

    python -m benchmarks.survey              # 500 settings, half an hour
    python -m benchmarks.survey --count 100 --first 200

Every strategy is asked by itself for the upper end, and for the lower end, beside what grids find. A win is by how much
an end is nearer than the best of the others, in per cent of epsilon; below a thousandth of a per cent none counts, but
for grids. Every third setting is an extreme: up to 1e18 instances, and a delta down to 1e-300.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import dpverify
from dpverify.guarantee import Interval
from dpverify.privacy_loss.composing.family import FamilyComposition, Strategy
from protocols.lsq import GaussianFeatures

__all__ = ["KINDS", "Tally", "asked", "main", "survey"]

_LEAST_WIN = 1e-5
_AT_EXTREMES = ("rr", "rr, few flips", "nb", "poisson", "3nb", "pure", "central")
Ask = Callable[[], object]

KINDS = (
    "rr",
    "rr, few flips",
    "nb",
    "poisson",
    "3nb",
    "pure",
    "kde",
    "histogram",
    "rappor",
    "shuffled",
    "joint",
    "central",
)


@dataclass
class Tally:
    """How often a strategy decided, its largest win in per cent of epsilon, and processor seconds."""

    asked: int = 0
    upper: int = 0
    lower: int = 0
    win: float = 0.0
    seconds: float = 0.0


def asked(number: int) -> tuple[str, Ask]:
    """Return a setting's kind, and what accounts for it: both depend on its number alone."""
    rng = np.random.default_rng([number, 24])

    def log(low: float, high: float) -> float:
        return float(10 ** rng.uniform(math.log10(low), math.log10(high)))

    kind = KINDS[number % len(KINDS)]
    users, delta, instances = int(log(3, 1e6)), log(1e-10, 0.3), int(log(1, 1e3))
    if number // len(KINDS) % 3 == 2 and kind in _AT_EXTREMES:
        users, delta, instances = int(log(2, 1e9)), 10 ** -rng.uniform(10, 300), int(log(2, 1e18))
    if kind == "shuffled":
        epsilon0, rounds, users = rng.uniform(0.5, 4), 1 + int(log(1, 50)), max(users, 1000)
        return kind, lambda: dpverify.amplify(epsilon0=epsilon0, users=users, delta=min(delta, 0.1), rounds=rounds)
    flips = log(2, 300) if kind == "rr, few flips" else log(0.5, 1e4)
    response = dpverify.RandomizedResponse(users, min(flips / users, rng.uniform(0.1, 0.48)))
    binomial = dpverify.NegativeBinomial(users, rng.uniform(1, 40), 1 - log(1e-3, 0.3), estimate="under")
    protocol: Any = response
    if kind in ("nb", "histogram"):
        protocol = binomial if kind == "nb" else dpverify.Histogram(binomial, 16)
    elif kind == "poisson":
        protocol = dpverify.Poisson(users, log(3, 1e4))
    elif kind == "3nb":
        protocol = dpverify.ThreeNB(users, 1 - log(3e-3, 0.1), 10.0, 1 - log(1e-3, 1e-2))
    elif kind == "pure":
        protocol = dpverify.Pure(users, 1 - log(1e-3, 0.3), rng.uniform(0, 0.3), 1.0, 1 - log(1e-3, 0.1))
    elif kind == "rappor":
        protocol = dpverify.Rappor(64, 2, f=rng.uniform(0.2, 0.7), p=0.3, q=0.7, reports=int(log(1, 50)))
    elif kind == "central":
        protocol = dpverify.CentralDiscreteGaussian(users, log(0.3, 1e4))
    elif kind == "joint":
        instances = max(instances, 2)
        square = rng.uniform(0.01, 0.9) * instances
        return kind, lambda: dpverify.account(response, instances=instances, squared_change=square, delta=delta)
    elif kind == "kde":
        protocol, instances = dpverify.KernelDensityProtocol(response, GaussianFeatures(2).sample(instances, rng)), 1
    return kind, lambda: dpverify.account(protocol, instances=instances, delta=delta)


def survey(first: int, count: int) -> dict[str, Tally]:
    """Return what each strategy was worth in these settings."""
    found: dict[str, Tally] = defaultdict(Tally)
    epsilon = FamilyComposition.epsilon

    def watched(family: FamilyComposition, delta: float, **how: Any) -> Interval:
        began = time.process_time()
        answer = epsilon(family, delta, **how)
        if family.instances == 1 or not 0.0 < answer.upper < math.inf:
            whole = found["once" if family.instances == 1 else "0 or infinite"]
            whole.asked, whole.seconds = whole.asked + 1, whole.seconds + time.process_time() - began
        else:
            _compare(family.strategies, delta, found)
        return answer

    with mock.patch.object(FamilyComposition, "epsilon", watched):
        for number in range(first, first + count):
            with suppress(dpverify.CapacityError):
                asked(number)[1]()
    return found


def _compare(strategies: tuple[Strategy, ...], delta: float, found: dict[str, Tally]) -> None:
    """Ask each strategy, most of them beside grids, and count who decided either end, and by how much."""
    ends, nothing = dict[str, Interval](), Interval(0.0, math.inf)
    for strategy in strategies:
        began = time.process_time()
        ends[strategy.name] = strategy.epsilon(delta, ends.get("grids", nothing))
        tally = found[strategy.name]
        tally.asked, tally.seconds = tally.asked + 1, tally.seconds + time.process_time() - began
    for side, sign in (("upper", 1.0), ("lower", -1.0)):
        order = sorted(ends, key=lambda name: (sign * getattr(ends[name], side), name != "grids"))
        best, second = (getattr(ends[name], side) for name in order[:2])
        tally, win = found[order[0]], min(abs(second - best) / max(best, 1e-300), 1.0)
        if order[0] == "grids" or win > _LEAST_WIN:
            setattr(tally, side, getattr(tally, side) + 1)
        if order[0] != "grids":
            tally.win = max(tally.win, 100.0 * win)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    found = survey(arguments.first, arguments.count)
    print("| strategy | asked | upper ends | lower ends | largest win, % | CPU s |\n|---|---|---|---|---|---|")
    for name, each in found.items():
        print(f"| {name} | {each.asked} | {each.upper} | {each.lower} | {each.win:.3g} | {each.seconds:.1f} |")


if __name__ == "__main__":
    main()
