"""Three hundred answers of the whole tool, recorded and compared: a net under changes that must change no figure.

    python -m benchmarks.net record net.json
    python -m benchmarks.net compare net.json

A question depends on its number alone. `record` computes the answers that FILE does not have yet; `compare` computes
them again and prints every figure that is not the same or better, and the processor time of both by kind. Ends of
intervals may become tighter, errors of plans smaller; everything else is the same to nine digits. Exit status 1 if any
is not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dpverify
from dpverify.formulas import catalogue

_SLACK = 2e-6
"""The relative change that counts as none."""
_PLANNED = 5e-4
"""The same where a search ends within that much of the least error."""

Answer = dict[str, float | str]
"""Figures by names that say what they are: `upper` and `error` may fall, `lower` may grow."""


def _interval(name: str, interval: Any) -> Answer:
    return {f"{name} lower": interval.lower, f"{name} upper": interval.upper}


def _account(protocol: Any, **options: Any) -> Answer:
    result = dpverify.account(protocol, **options)
    return _interval("epsilon", result.epsilon) if "delta" in options else _interval("delta", result.delta)


def _plan(bitsum: str, budget: tuple[float, float], **options: Any) -> Answer:
    row = dpverify.plan(bitsum, budget, **options)
    return {"error": row.bitsum_rmse, "epsilon": str(row.guarantee.epsilon <= budget[0])}


def _best(rows: Any) -> Answer:
    return {f"error {row.protocol.__class__.__name__}": row.bitsum_rmse for row in rows if hasattr(row, "bitsum_rmse")}


def _bitsum(rng: np.random.Generator, kinds: int = 5) -> Any:
    users = int(10 ** rng.uniform(1, 6))
    kind = rng.integers(kinds)
    if kind == 0:
        return dpverify.RandomizedResponse(users, min(10 ** rng.uniform(0.5, 4) / users, 0.45))
    if kind == 1:
        return dpverify.Poisson(users, 10 ** rng.uniform(0.5, 4))
    if kind == 2:
        return dpverify.NegativeBinomial(users, rng.uniform(1, 40), 1 - 10 ** rng.uniform(-3, -0.5))
    if kind == 3:
        return dpverify.ThreeNB(users, 1 - 10 ** rng.uniform(-2.5, -1), 10.0, 1 - 10 ** rng.uniform(-3, -2))
    return dpverify.CentralDiscreteGaussian(users, 10 ** rng.uniform(0.3, 2))


def _accounts(rng: np.random.Generator) -> Answer:
    protocol, delta = _bitsum(rng), 10 ** rng.uniform(-12, -2)
    return _account(protocol, instances=int(10 ** rng.uniform(0, 3)), delta=delta)


def _deltas(rng: np.random.Generator) -> Answer:
    protocol, epsilon = _bitsum(rng), 10 ** rng.uniform(-1, 1)
    return _account(protocol, instances=int(10 ** rng.uniform(0, 2)), epsilon=epsilon)


def _few(rng: np.random.Generator) -> Answer:
    users = int(rng.integers(2, 30))
    protocol = dpverify.RandomizedResponse(users, rng.uniform(0.05, 0.45))
    return _account(protocol, instances=int(rng.integers(1, 12)), delta=10 ** rng.uniform(-6, -0.5))


def _honest(rng: np.random.Generator) -> Answer:
    users = int(10 ** rng.uniform(2, 5))
    protocol = dpverify.RandomizedResponse(users, min(10 ** rng.uniform(1, 3) / users, 0.3))
    return _account(
        protocol, instances=int(10 ** rng.uniform(0, 2)), delta=1e-6, honest=int(users * rng.uniform(0.3, 1))
    )


def _joint(rng: np.random.Generator) -> Answer:
    users = int(10 ** rng.uniform(2, 5))
    protocol = (
        dpverify.RandomizedResponse(users, min(10 ** rng.uniform(1.5, 3.5) / users, 0.4))
        if rng.integers(2)
        else dpverify.Poisson(users, 10 ** rng.uniform(1, 3.5))
    )
    instances = int(10 ** rng.uniform(1, 2.8))
    change, ball = instances * 10 ** rng.uniform(-1.5, 0), bool(rng.integers(2))
    return _account(protocol, instances=instances, delta=1e-6, squared_change=change, ball=ball)


def _days(rng: np.random.Generator) -> Answer:
    days = [(_bitsum(rng, 4), int(rng.integers(1, 20))) for _ in range(int(rng.integers(2, 5)))]
    return _account(days, delta=10 ** rng.uniform(-10, -3))


def _kinds(rng: np.random.Generator) -> Answer:
    users = int(10 ** rng.uniform(2, 5))
    kind = rng.integers(6)
    noise = dpverify.NegativeBinomial(users, 10.0, 1 - 10 ** rng.uniform(-3, -1), estimate="under")
    coin = min(10 ** rng.uniform(1, 3) / users, 0.5)
    protocol: Any = (
        dpverify.Histogram(noise, 16),
        dpverify.Selection(noise, 16),
        dpverify.VectorSum(users, 8, 4, coin),
        dpverify.ShuffledMean(users, coin),
        dpverify.Rappor(64, 2, f=rng.uniform(0.2, 0.7), p=0.3, q=0.7, reports=int(rng.integers(1, 50))),
        dpverify.OneBitMean(rng.uniform(0.2, 3)),
    )[kind]
    return _account(protocol, delta=1e-6)


def _plans(rng: np.random.Generator) -> Answer:
    name = ("rr", "3nb", "nb", "poisson", "pure", "central-gaussian", "central-discrete-laplace", "local-rr")[
        rng.integers(8)
    ]
    budget = (10 ** rng.uniform(-0.5, 0.7), 10 ** rng.uniform(-9, -4))
    return _plan(name, budget, users=int(10 ** rng.uniform(2, 5)), instances=int(10 ** rng.uniform(0, 2.5)))


def _joint_plans(rng: np.random.Generator) -> Answer:
    instances = int(10 ** rng.uniform(1, 2.5))
    change = instances * 10 ** rng.uniform(-1, 0)
    name = ("rr", "poisson")[rng.integers(2)]
    return _plan(name, (1.0, 1e-6), users=int(10 ** rng.uniform(3, 5)), instances=instances, squared_change=change)


def _amplified(rng: np.random.Generator) -> Answer:
    users, delta = int(10 ** rng.uniform(2, 6)), 10 ** rng.uniform(-9, -4)
    kind = ("any", "adaptive", "k-rr", "laplace", "gaussian")[rng.integers(5)]
    options: dict[str, Any] = {"classes": int(rng.integers(2, 8))} if kind == "k-rr" else {}
    options |= {"sigma": rng.uniform(0.5, 4)} if kind == "gaussian" else {"epsilon0": rng.uniform(0.5, 4)}
    result = dpverify.amplify(kind, users=users, delta=delta, **options)
    return _interval("epsilon", result.epsilon)


def _backwards(rng: np.random.Generator) -> Answer:
    users, delta = int(10 ** rng.uniform(3, 6)), 10 ** rng.uniform(-9, -4)
    result = dpverify.largest_epsilon0(rng.uniform(0.1, 1), users=users, delta=delta)
    return {"epsilon0 backwards": result.lower}


def _budgets(rng: np.random.Generator) -> Answer:
    budget, theorem = (
        (rng.uniform(0.5, 4), 10 ** rng.uniform(-9, -4)),
        ("basic", "advanced", "optimal")[rng.integers(3)],
    )
    result = dpverify.per_instance_budget(budget, int(10 ** rng.uniform(0, 3)), composition=theorem)
    return {"epsilon0": result.epsilon0, "delta0": result.delta0}


def _divergences(rng: np.random.Generator) -> Answer:
    pair = dpverify.NegativeBinomialPair(str(int(rng.integers(1, 20))), f"{1 - 10 ** rng.uniform(-2, -0.3):.6f}")
    return {"text": dpverify.hockey_stick(pair, f"{rng.uniform(0, 2):.3f}", digits=20).text}


def _formulas(rng: np.random.Generator) -> Answer:
    del rng
    return {formula.name: "there" for formula in catalogue.formulas()}


def _theorems(rng: np.random.Generator) -> Answer:
    del rng
    return {theorem.name: theorem.verdict.value for theorem in dpverify.theorems()}


def _audits(rng: np.random.Generator) -> Answer:
    protocol = dpverify.RandomizedResponse(users=20, flip_probability=float(rng.uniform(0.1, 0.4)))
    cheat = rng.integers(2)
    report = dpverify.audit_protocol(
        protocol,
        implementation=(lambda bits, generator: float(bits.sum())) if cheat else None,
        trials=400,
        seed=int(rng.integers(100)),
    )
    return {"verdict": report.verdict.value}


def _black_boxes(rng: np.random.Generator) -> Answer:
    scale = float(rng.uniform(0.4, 2))
    report = dpverify.audit_mechanism(
        lambda x, generator: x + generator.laplace(scale=scale),
        (1.0, 0.0),
        (0.0, 1.0),
        trials=4000,
        seed=3,
        resolution=0.25,
    )
    return {"verdict": report.verdict.value}


def _means(rng: np.random.Generator) -> Answer:
    plans = dpverify.plan_means((rng.uniform(0.5, 4), 1e-6), users=int(10 ** rng.uniform(2, 5)))
    return {f"error {type(row.protocol).__name__}": row.rmse for row in plans.plans}


KINDS: dict[str, tuple[Callable[[np.random.Generator], Answer], int]] = {
    "accounts": (_accounts, 60),
    "deltas": (_deltas, 20),
    "few users": (_few, 30),
    "honest": (_honest, 10),
    "joint": (_joint, 25),
    "days": (_days, 15),
    "other protocols": (_kinds, 24),
    "plans": (_plans, 40),
    "joint plans": (_joint_plans, 6),
    "amplified": (_amplified, 24),
    "backwards": (_backwards, 8),
    "budgets": (_budgets, 12),
    "divergences": (_divergences, 10),
    "formulas": (_formulas, 1),
    "theorems": (_theorems, 1),
    "audits": (_audits, 8),
    "black boxes": (_black_boxes, 6),
    "means": (_means, 3),
}


def questions() -> Iterator[tuple[str, Callable[[], Answer]]]:
    """Yield every question by its name."""
    for kind, (ask, count) in KINDS.items():
        for number in range(count):
            rng = np.random.default_rng([number, *kind.encode()])
            yield f"{kind} {number}", lambda ask=ask, rng=rng: ask(rng)  # type: ignore[misc]


def answer(ask: Callable[[], Answer]) -> dict[str, Any]:
    """Return the figures and the processor seconds; a refusal is an answer."""
    began = time.process_time()
    try:
        figures = {name: value if isinstance(value, str) else float(value) for name, value in ask().items()}
    except (dpverify.CapacityError, dpverify.InfeasibleBudgetError, ValueError, TypeError) as error:
        figures = {"refused": f"{type(error).__name__}: {error}"}
    return {"figures": figures, "seconds": round(time.process_time() - began, 3)}


def worse(name: str, before: Any, after: Any) -> bool:
    """Return whether a figure is not the same or better."""
    if isinstance(before, str) or isinstance(after, str):
        return before != after
    if before == after or (math.isnan(before) and math.isnan(after)):
        return False
    slack = (_PLANNED if name.startswith("error") else _SLACK) * abs(before)
    if name.endswith("upper") or name.startswith("error"):
        return after > before + slack
    if name.endswith("lower") or name == "epsilon0 backwards":
        return after < before - slack
    return abs(after - before) > 1e-9 * abs(before)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="kinds that begin so")
    arguments = parser.parse_args()
    recorded: dict[str, Any] = json.loads(arguments.file.read_text()) if arguments.file.exists() else {}
    spent: dict[str, list[float]] = {}
    found = 0
    for name, ask in questions():
        if not name.startswith(arguments.only) or (arguments.action == "record" and name in recorded):
            continue
        new = answer(ask)
        if arguments.action == "record":
            recorded[name] = new
            part = arguments.file.with_suffix(".part")
            part.write_text(json.dumps(recorded, indent=1))
            os.replace(part, arguments.file)
            continue
        old = recorded[name]
        times = spent.setdefault(name.rsplit(" ", 1)[0], [0.0, 0.0])
        times[0] += old["seconds"]
        times[1] += new["seconds"]
        for figure in sorted({*old["figures"], *new["figures"]}):
            before, after = old["figures"].get(figure, "none"), new["figures"].get(figure, "none")
            if worse(figure, before, after):
                found += 1
                print(f"{name}: {figure} {before} -> {after}", flush=True)
    for kind, (before, after) in spent.items():
        print(f"{kind}: {before:.1f} -> {after:.1f} processor seconds")
    print(
        f"{found} figures are neither the same nor better."
        if arguments.action == "compare"
        else f"{len(recorded)} answers"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
