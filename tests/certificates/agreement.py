"""Certificates of random settings, parameters drawn by their logarithms: does any show less than is attained?

`python -m tests.certificates.agreement NUMBER SEED [NAME ...]` takes so many settings, of these protocols or of all. It
says how far certified epsilons lie below the lower ends of `account`, at most, and how far above the upper ends.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from dpverify import account
from dpverify.claims.shared.buckets import under_estimating
from dpverify.guarantee import CapacityError
from dpverify.planning import certificate
from dpverify.planning.contours.contour_certificate import contour_certificate
from protocols.bitsum import (
    CentralDiscreteGaussian,
    CentralDiscreteLaplace,
    LocalRandomizedResponse,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.selection import Selection
from protocols.sums import NegativeBinomialSum, PoissonSum, SplitAndMix
from protocols.vector_sum import VectorSum

__all__ = ["PROTOCOLS", "Found", "found"]

Draw = Callable[[float, float], float]
PROTOCOLS: dict[str, Callable[[Draw, int], Any]] = {
    "rr": lambda u, n: RandomizedResponse(n, u(1e-2, 0.45)),
    "nb": lambda u, n: NegativeBinomial(n, u(0.3, 300), 1 - u(1e-3, 0.6)),
    "poisson": lambda u, n: Poisson(n, u(2, 1e4)),
    "nb-sum": lambda u, n: NegativeBinomialSum(n, int(u(1, 9)), u(3, 300), 1 - u(1e-3, 0.2)),
    "poisson-sum": lambda u, n: PoissonSum(n, int(u(1, 9)), u(1e3, 1e5)),
    "split-and-mix": lambda u, n: SplitAndMix(
        n, int(u(1, 9)), modulus=2**24, shares=int(u(6, 40)), p=1 - u(1e-2, 0.6), shape=u(0.5, 30)
    ),
    "3nb": lambda u, n: ThreeNB(n, 1 - u(0.03, 0.6), u(2, 20), 1 - u(0.03, 0.6), u(0.3, 30)),
    "pure": lambda u, n: Pure(n, 1 - u(0.03, 0.6), u(1e-3, 0.3), u(2, 20), 1 - u(0.03, 0.6), u(1, 30)),
    "histogram": lambda u, n: Histogram(under_estimating(n, u(1, 300), 1 - u(1e-2, 0.6)), 4),
    "selection": lambda u, n: Selection(under_estimating(n, u(1, 300), 1 - u(1e-2, 0.6)), 4),
    "vector-sum": lambda u, n: VectorSum(n, 6, int(u(1, 6)), u(1e-2, 0.9), sampled=int(u(1, 4)), stratified=True),
    "central-discrete-laplace": lambda u, n: CentralDiscreteLaplace(n, 1 - u(1e-3, 0.7)),
    "central-discrete-gaussian": lambda u, n: CentralDiscreteGaussian(n, u(0.5, 200)),
    "local-rr": lambda u, n: LocalRandomizedResponse(n, u(1e-2, 0.49)),
    "labels": lambda u, n: LabelRandomizedResponse(int(u(2, 300)), u(1e-2, 5)),
}
JOINT = ("rr", "nb", "poisson")


class Found(NamedTuple):
    """What is accounted and certified of a setting; None where the checker has no room for it, or no epsilon does."""

    setting: str
    lower: float
    upper: float
    certified: float | None


def found(number: int, seed: int, names: list[str] | None = None) -> Iterator[Found]:
    """Yield what settings give, of each protocol in turn; of every twentieth that has them, joint changes.

    Parameters
    ----------
    number, seed : int
        How many, and for the generator.
    names : list of str, optional
        Of `PROTOCOLS`; all when omitted.
    """
    chance = random.Random(seed)

    def draw(low: float, high: float) -> float:
        return float(f"{low * (high / low) ** chance.random():.6g}")

    names = names or [*PROTOCOLS]
    for at in range(number):
        name = names[at % len(names)]
        protocol = PROTOCOLS[name](draw, int(draw(3, 3e3)))
        instances, delta = int(draw(1, 300)), f"{draw(1e-10, 1e-2):.3g}"
        honest = int(draw(2, protocol.users + 1)) if "users" in certificate.checker.PROTOCOLS[name][1] else None
        given: dict[str, Any] = {"delta": delta, "instances": instances}
        given["honest"] = None if honest is None or chance.random() < 0.5 else honest
        if joint := name in JOINT and (at // len(names)) % 20 == 19:
            given["squared_change"] = repr(min(draw(0.05, 30), instances))
        setting = f"{protocol!r} {json.dumps(given)}"
        truth = account(protocol, **given).epsilon
        try:
            claim = contour_certificate(protocol, **given) if joint else certificate.certificate(protocol, **given)
        except CapacityError:
            yield Found(setting, truth.lower, truth.upper, None)
            continue
        yield Found(setting, truth.lower, truth.upper, float(Decimal(claim["epsilon"])))


def _main(number: int, seed: int, names: list[str]) -> None:
    rows: list[list[tuple[float, str]]] = [[], []]
    for at, one in enumerate(found(number, seed, names), 1):
        if one.certified is not None:
            rows[0].append((one.lower / one.certified - 1, one.setting))
            rows[1] += [(one.certified / one.upper - 1, one.setting)] if one.upper else []
        if at % 50 == 0 or at == number:
            print(f"{at} settings, {len(rows[0])} with a certificate")
            for words, each in zip(("lower end over certified", "certified over upper end"), rows, strict=True):
                each.sort()
                (most, setting), (middle, _) = each[-1], each[len(each) // 2]
                print(f"  {words}: {most:+.3%} at most, {middle:+.3%} in the middle; {setting}")
            sys.stdout.flush()


if __name__ == "__main__":
    _main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
