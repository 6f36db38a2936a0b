"""wagner2025, Figure 3: the error of a Gaussian kernel density by budget and bitsum."""

from __future__ import annotations

import math

import numpy as np

from dpverify.reproduction.accuracy import DELTA, Way, differences, family_of, planned
from dpverify.reproduction.experiment import Experiment, Finding, Panel, Reproduction, Row, Setting
from protocols.kde import KernelDensityProtocol

__all__ = ["EXPERIMENTS"]

_NAME, _SOURCE = "wagner2025-figure-3", "wagner2025, Figure 3"
_WHAT = "error of a Gaussian kernel density by budget and bitsum"
_QUERIES = 1_000


def _errors(setting: Setting) -> Reproduction:
    epsilons = ("2",) if setting.quick else ("1", "2", "4", "7", "10")
    runs = 2 if setting.quick else 5
    points, queries = setting.data.train[0], setting.data.test[0][:_QUERIES]
    # Of vectors of norm 1, the squared distance is 2 less twice the inner product.
    truth = np.array([np.exp(2.0 * (points @ query) - 2.0).mean() for query in queries])
    rows: list[Row] = []
    for bitsum in ("rr", "3nb", "pure"):
        for way in Way:
            for epsilon in epsilons:
                setting.progress(f"{bitsum}, {way.value} parameters, epsilon {epsilon}")
                family, pairs = family_of("Gaussian", setting.data.dimension, way)
                protocol = planned(bitsum, way, "Gaussian", setting.data.dimension, epsilon, len(points))
                error = None
                if protocol is not None:
                    squares = []
                    for run in range(runs):
                        features = family.sample(pairs, setting.generator(3, run))
                        density = KernelDensityProtocol(protocol, features).simulate(points, setting.generator(4, run))
                        squares.append(np.mean((density(queries) - truth) ** 2))
                    error = math.sqrt(float(np.mean(squares)))
                rows.append({"bitsum": bitsum, "accounting": way.value, "epsilon": float(epsilon), "rmse": error})

    def of(bitsum: str, way: Way) -> list[float]:
        return [
            math.inf if row["rmse"] is None else row["rmse"]
            for row in rows
            if row["bitsum"] == bitsum and row["accounting"] == way
        ]

    findings = [
        Finding(
            f"3NB is the most accurate, followed by RR and Pure ({way} parameters)",
            float(np.mean(of("3nb", way))) < 0.98 * min(float(np.mean(of("rr", way))), float(np.mean(of("pure", way)))),
            "mean RMSE " + ", ".join(f"{bitsum} {np.mean(of(bitsum, way)):.4f}" for bitsum in ("3nb", "rr", "pure")),
        )
        for way in Way
    ]
    panels = tuple(
        Panel(f"{way} parameters", "epsilon", "rmse", "bitsum", [row for row in rows if row["accounting"] == way],
              "ε (nats)", "RMSE of a density", "xy")
        for way in (Way.PUBLISHED, Way.JOINT)
    )  # fmt: skip
    notes = (
        f"delta = {DELTA}, all {len(points):,} users together, {len(queries)} held-out queries.",
        differences(setting.data),
    )
    return Reproduction(_NAME, _SOURCE, _WHAT, setting.data.name, tuple(rows), tuple(findings), panels, notes)


EXPERIMENTS = (Experiment(_NAME, _SOURCE, _WHAT, _errors),)
