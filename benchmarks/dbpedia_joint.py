"""What joint changes buy the highest density class classifier on real embeddings: the same budget, the same messages.

    python -m benchmarks.dbpedia_joint EMBEDDINGS.npz --output FOLDER

EMBEDDINGS holds unit vectors `X` (points, d) and labels `y`. A tenth of the points is held out. Labels are published at
eps_lbl = 5; eps is that of one class's density protocol at delta = 1e-6, and each class runs randomized response with
parameters that hold for the smallest class of all runs. Side by side, for d bits per user unless said otherwise:

- published: wagner2025's features and formula, every bit charged in full.
- full change: the same features, exact accounting, every bit charged in full.
- joint change: exact accounting of `L2Bounded`, with T^2 from the features (`LSQClaims.squared_change`).
- central Gaussian: a trusted curator adds normal noise to the sum of the features, whose joint sensitivity is 2 |f|.
- no privacy: the features, rounded to bits, without noise; and the class means themselves.

Each is the mean of `--repeats` runs of fresh private noise, with their standard deviation.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpverify.claims.bitsum import claims_of
from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.lsq.linear import unbiased
from dpverify.claims.registry import claims_of as twin_of
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.plan import plan
from protocols.bitsum import BitsumProtocol
from protocols.classifier import HighestDensityClassifier
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import FourierPairs, GaussianFeatures, Identity, LinearMap, LSQFamily, LSQFeatures, RandomSigns

EPSILONS = ("0.5", "1", "2")
DELTA, LABEL_EPSILON = "1e-6", 5.0
Chooser = Callable[[int], BitsumProtocol]


def rotated(dimension: int, limit: float, kind: str = "haar") -> LinearMap:
    """Return a rotation with a range, made unbiased on average."""
    return unbiased(LinearMap(dimension, kind, limit, radius=1.0))


def kernels(d: int) -> dict[str, list[tuple[str, LSQFamily, int]]]:
    """Every kernel's families, with what each is charged for and its number of pairs."""
    spread = d**-0.5
    return {
        "inner product": [
            ("published", RandomSigns(d), d),
            ("full change", RandomSigns(d), d),
            ("joint change", RandomSigns(d), d),
            ("joint change", Identity(d, 4.0 * spread, radius=1.0), 1),
            *(("joint change", rotated(d, reach * spread), 1) for reach in (4.0, 3.0, 2.0)),
            ("joint change", rotated(d, 2.0 * spread, "hadamard"), 1),
            # More bits than dimensions: less is lost to rounding, at the same noise.
            ("joint change", dataclasses.replace(rotated(d, 5.0 * spread), rows=4 * d), 1),
        ],
        "Gaussian": [
            ("published", GaussianFeatures(d), d),
            ("full change", GaussianFeatures(d), d),
            ("joint change", GaussianFeatures(d), d),
            ("joint change", FourierPairs(d), d // 2),
        ],
    }


@functools.cache
def bitsum(charge: str, epsilon: str, users: int, bits: int, squared_change: float) -> BitsumProtocol:
    """Return randomized response of least error within the budget."""
    budget = Budget(epsilon, DELTA)
    if charge != "joint change":
        method = "published" if charge == "published" else "exact"
        return plan("rr", budget, users=users, instances=bits, method=method).protocol
    return plan("rr", budget, users=users, instances=bits, squared_change=squared_change).protocol


def chosen_bitsum(
    charge: str, epsilon: str, smallest: int, bits: int, squared_change: float, users: int
) -> BitsumProtocol:
    """Return the protocol of a class with a number of users: set for the smallest class, or published for its own."""
    at = users if charge == "published" else smallest
    return dataclasses.replace(bitsum(charge, epsilon, at, bits, squared_change), users=users)


class Accuracy:
    """The runs on one data set."""

    def __init__(self, x: NDArray[np.float64], y: NDArray[np.int64], repeats: int) -> None:
        self.held_out, self.x, self.y = len(x) // 10, x, y
        self.seeds = range(repeats)
        counts = [self.fit(Identity(x.shape[1]), 1, None, seed).reported_counts_.min() for seed in self.seeds]
        self.smallest = int(min(counts))

    def fit(self, family: LSQFamily, pairs: int, choose: Chooser | None, seed: int) -> HighestDensityClassifier:
        # Labels are drawn first, so that a seed's reported counts are the same in every setting.
        made = HighestDensityClassifier(
            family, instances=pairs, bitsum=choose, label_epsilon=LABEL_EPSILON, random_state=seed
        )
        return made.fit(self.x[self.held_out :], self.y[self.held_out :])

    def score(self, predicted: NDArray[np.int64]) -> float:
        return float(np.mean(predicted == self.y[: self.held_out]))

    def runs(self, family: LSQFamily, pairs: int, choose: Chooser | None) -> list[float]:
        return [self.score(self.fit(family, pairs, choose, s).predict(self.x[: self.held_out])) for s in self.seeds]

    def central(self, family: LSQFamily, pairs: int, epsilon: str) -> list[float]:
        """Return the runs of a trusted curator, who adds normal noise to the sums of the features themselves."""
        found = []
        for seed in self.seeds:
            model = self.fit(family, pairs, None, seed)
            features = model.features_
            labels = self.reported(seed)
            sigma = central_sigma(features, epsilon)
            rng = np.random.default_rng([seed, 1])
            sums = np.stack([self.features_of(features, labels == k).sum(axis=0) for k in range(labels.max() + 1)])
            means = (sums + sigma * rng.standard_normal(sums.shape)) / np.bincount(labels)[:, np.newaxis]
            queries = features.g(self.x[: self.held_out]).reshape(self.held_out, -1)
            found.append(self.score((queries @ means.T).argmax(axis=1)))
        return found

    def reported(self, seed: int) -> NDArray[np.int64]:
        """Return the labels that users publish in the run of a seed."""
        labels = self.y[self.held_out :]
        rng = np.random.default_rng(seed)
        return LabelRandomizedResponse(int(labels.max()) + 1, LABEL_EPSILON).randomize(labels, rng)

    def features_of(self, features: LSQFeatures, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        points = self.x[self.held_out :][chosen]
        return features.f(points).reshape(len(points), -1)


def central_sigma(features: LSQFeatures, epsilon: str) -> float:
    """Return the deviation of each coordinate's noise: for a sensitivity of 2 R T, as the bits' changes have it."""
    reach = 2.0 * features.family.R * twin_of(features.family).squared_change(features) ** 0.5
    return least_sigma(float(epsilon), float(DELTA)) * reach


def described(family: LSQFamily) -> str:
    range_ = f", R={family.R:.3f}, Q={family.Q}" if isinstance(family, (LinearMap, Identity)) else ""
    kind = f" {family.kind}" if isinstance(family, LinearMap) else ""
    return f"{type(family).__name__}{kind}{range_}"


def measured(call: Callable[[], object]) -> tuple[float, float]:
    """Return the processor seconds of a call, and the peak memory of another, in MB."""
    started = time.process_time()
    call()
    seconds = time.process_time() - started
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--repeats", type=int, default=10, help="runs of fresh private noise")
    arguments = parser.parse_args()
    data = np.load(arguments.embeddings, allow_pickle=False)
    order = np.random.default_rng(0).permutation(len(data["y"]))
    x, y = data["X"][order].astype(np.float64), data["y"][order].astype(np.int64)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    task, rows = Accuracy(x, y, arguments.repeats), []
    means = np.stack([x[task.held_out :][y[task.held_out :] == k].mean(axis=0) for k in range(y.max() + 1)])
    print(f"{len(x) - task.held_out} users, smallest class {task.smallest}")
    print(f"class means: {task.score((x[: task.held_out] @ means.T).argmax(axis=1)):.3f}\n")
    cost: dict[str, tuple[float, float]] = {}

    def add(kernel: str, charge: str, features: str, epsilon: str, runs: list[float] | None, **more: object) -> None:
        row = {"kernel": kernel, "charge": charge, "features": features, "epsilon": epsilon, **more}
        row |= {"accuracy": None if runs is None else float(np.mean(runs)), "runs": runs}
        rows.append(row)
        shown = "-" if runs is None else f"{np.mean(runs):.3f} +- {np.std(runs):.3f}"
        print(f"{kernel:>14} {charge:>17} {features:>38} {epsilon:>4} {shown}", flush=True)

    for kernel, families in kernels(x.shape[1]).items():
        for charge, family, pairs in families:
            features = task.fit(family, pairs, None, 0).features_
            squared_change, bits = twin_of(family).squared_change(features), features.coordinates
            name = described(family)
            chosen: Chooser | None = None
            for epsilon in EPSILONS:
                choose = functools.partial(chosen_bitsum, charge, epsilon, task.smallest, bits, squared_change)
                try:
                    choose(task.smallest)
                except (InfeasibleBudgetError, FormulaRangeError) as error:
                    add(kernel, charge, name, epsilon, None, why=str(error))
                    continue
                runs = task.runs(family, pairs, choose)
                found = bitsum(charge, epsilon, task.smallest, bits, squared_change)
                rmse = claims_of(found).rmse(found)
                add(kernel, charge, name, epsilon, runs, bits=bits, squared_change=squared_change, bitsum_rmse=rmse)
                chosen = choose
            if charge == "joint change":
                for epsilon in EPSILONS:
                    add(kernel, "central Gaussian", name, epsilon, task.central(family, pairs, epsilon))
            if charge != "published":
                add(kernel, "no privacy", name, "inf", task.runs(family, pairs, None))
                cost[f"{kernel}, {charge}, {name}"] = measured(functools.partial(task.fit, family, pairs, chosen, 0))
    first: dict[str, tuple[float, float]] = {}
    print("\nfit, as a ratio to full change: seconds, memory")
    for name, (seconds, peak) in cost.items():
        base = first.setdefault(name.split(",")[0], (seconds, peak))
        print(f"{name:>60} {seconds / base[0]:.2f} {peak / base[1]:.2f}")
    (arguments.output / "dbpedia_joint.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
