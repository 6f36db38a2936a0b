"""Accuracy of the highest density class classifier on real embeddings: kernels, bitsums and ways to set parameters.

    python benchmarks/dbpedia.py EMBEDDINGS.npz --vocabulary VOCABULARY.npz --output FOLDER

EMBEDDINGS holds unit vectors `X` (points, d), labels `y` and `label_names`; VOCABULARY holds `X` and `words`. A tenth
of the points is held out. Labels are published at eps_lbl = 5; eps is that of one class's density protocol, at delta =
1e-6: the whole is (eps, 1e-6)-DP for replacing a point, (eps + 5, 1e-6)-DP for a point and its label.

Exact parameters are searched for the smallest reported class and used, with each class's own number of users, for all.
More users with the same parameters are at least as safe: the messages of one more user are independent of the replaced
user's input, and the total of divisible noise does not depend on the number of users. Published formulas are evaluated
for each class. The local baseline is randomized response against an adversary who sees names: its exact composition.
`--quick` takes a part of the points, instances and epsilons, to see that all runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from dpverify.claims.bitsum import BITSUM_CLAIMS
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.plan import plan
from protocols.bitsum import BitsumProtocol
from protocols.classifier import HighestDensityClassifier
from protocols.decoding import decode_classes

mpl.use("Agg")
import matplotlib.pyplot as plt

EPSILONS = ("0.5", "1", "2", "5", "8")
DELTA, LABEL_EPSILON = "1e-6", 5.0
KERNELS = {"gaussian": "Gaussian", "inner-product": "inner product"}
BITSUMS = tuple(name for name in ("rr", "3nb", "nb", "pure") if name in BITSUM_CLAIMS)
BASELINES = (("central-gaussian", "central"), ("local-rr", "local"))
COLORS = dict(zip(("rr", "3nb", "nb", "pure"), ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True))


@functools.cache
def published(bitsum: str, epsilon: str, users: int, instances: int) -> BitsumProtocol:
    budget = Budget(epsilon, DELTA)
    return plan(bitsum, budget, users=users, instances=instances, method="published").protocol


@functools.cache
def exact(bitsum: str, epsilon: str, users: int, instances: int) -> BitsumProtocol:
    return plan(bitsum, Budget(epsilon, DELTA), users=users, instances=instances).protocol


def chooser(
    bitsum: str, method: str, epsilon: str, smallest: int, instances: int
) -> Callable[[int], BitsumProtocol] | None:
    """Return what makes the bitsum for a class with a number of users; None is the exact sum."""
    if method == "none":
        return None
    if method == "published":
        return lambda users: published(bitsum, epsilon, users, instances)
    # The baselines' parameters are exact too.
    found = exact(bitsum, epsilon, smallest, instances)
    return lambda users: dataclasses.replace(found, users=users)


def settings(epsilons: Sequence[str]) -> list[tuple[str, str, str]]:
    """Every (bitsum, method, epsilon)."""
    pairs = [(bitsum, method) for bitsum in BITSUMS for method in ("published", "exact")]
    rows = [(*pair, e) for pair in (*pairs, *BASELINES) for e in epsilons]
    return [*rows, ("exact sum", "none", "inf")]


def table(rows: list[dict[str, object]], kernel: str) -> str:
    epsilons = [e for e in EPSILONS if any(row["epsilon"] == e for row in rows)]
    lines = [f"{KERNELS[kernel]:>30}" + "".join(f"{'eps=' + e:>10}" for e in epsilons)]
    for bitsum, method in dict.fromkeys((row["bitsum"], row["method"]) for row in rows):
        found = {
            r["epsilon"]: r["accuracy"]
            for r in rows
            if (r["kernel"], r["bitsum"], r["method"]) == (kernel, bitsum, method)
        }
        cells = [found.get(e, found.get("inf")) for e in epsilons]
        lines.append(
            f"{bitsum + ', ' + method:>30}" + "".join(f"{'-' if c is None else format(c, '.3f'):>10}" for c in cells)
        )
    return "\n".join(lines)


def plot(rows: list[dict[str, object]], path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
    for axis, (kernel, title) in zip(axes, KERNELS.items(), strict=True):
        for bitsum, method in dict.fromkeys((row["bitsum"], row["method"]) for row in rows):
            mine = [r for r in rows if (r["kernel"], r["bitsum"], r["method"]) == (kernel, bitsum, method)]
            mine = [r for r in mine if r["accuracy"] is not None]
            if method == "none":
                axis.axhline(mine[0]["accuracy"], color="0.6", lw=1, label="no noise")
                continue
            axis.plot(
                [float(r["epsilon"]) for r in mine],
                [r["accuracy"] for r in mine],
                color=COLORS.get(bitsum, "black"),
                ls={"published": ":", "exact": "-", "central": "--", "local": "-."}[method],
                marker={"published": "o", "exact": "s"}.get(method),
                ms=4,
                label={"central": "central Gaussian", "local": "local RR"}.get(method, f"{bitsum}, {method}"),
            )
        axis.set(title=title, xscale="log", xlabel="epsilon of a class (delta = 1e-6)", ylim=(0, 1))
        axis.set_xticks([float(e) for e in EPSILONS], EPSILONS)
        axis.minorticks_off()
    axes[0].set_ylabel("accuracy on held-out points")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--output", type=Path, default=Path())
    parser.add_argument("--instances", type=int, help="default: the dimension")
    parser.add_argument("--repeats", type=int, default=1, help="runs, of fresh private noise, that are averaged")
    parser.add_argument("--quick", action="store_true", help="every setting once, at two epsilons and a small size")
    arguments = parser.parse_args()
    data = np.load(arguments.embeddings, allow_pickle=False)
    order = np.random.default_rng(0).permutation(len(data["y"]))
    if arguments.quick:
        order = order[:3000]
    x, y = data["X"][order].astype(np.float64), data["y"][order]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    held_out = len(x) // 10
    instances = arguments.instances or (32 if arguments.quick else x.shape[1])
    epsilons = EPSILONS[2::2] if arguments.quick else EPSILONS

    def fit(kernel: str, bitsum: Callable[[int], BitsumProtocol] | None, seed: int = 0) -> HighestDensityClassifier:
        made = HighestDensityClassifier(
            kernel, instances=instances, bitsum=bitsum, label_epsilon=LABEL_EPSILON, random_state=seed
        )
        return made.fit(x[held_out:], y[held_out:])

    # Labels are drawn first, so that a seed's reported counts are the same in every setting.
    seeds = range(arguments.repeats)
    smallest = min(int(fit("gaussian", None, seed).reported_counts_.min()) for seed in seeds)
    started, rows = time.perf_counter(), []
    for kernel in KERNELS:
        for bitsum, method, epsilon in settings(epsilons):
            row: dict[str, object] = {"kernel": kernel, "bitsum": bitsum, "method": method, "epsilon": epsilon}
            try:
                choose = chooser(bitsum, method, epsilon, smallest, instances)
                runs = [np.mean(fit(kernel, choose, s).predict(x[:held_out]) == y[:held_out]) for s in seeds]
                row |= {"accuracy": float(np.mean(runs)), "deviation": float(np.std(runs))}
            except (InfeasibleBudgetError, FormulaRangeError) as error:
                row |= {"accuracy": None, "why": str(error)}
            rows.append(row)
    for kernel in KERNELS:
        print(table(rows, kernel), end="\n\n")
    for why in dict.fromkeys(row["why"] for row in rows if "why" in row):
        print(f"-: {why}")
    print(f"{len(x) - held_out} training users, smallest class {smallest}, {time.perf_counter() - started:.0f} s")
    plot(rows, arguments.output / "dbpedia.png")
    (arguments.output / "dbpedia.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if arguments.vocabulary:
        vocabulary = np.load(arguments.vocabulary, allow_pickle=False)
        pair = (vocabulary["words"].tolist(), vocabulary["X"].astype(np.float64))
        for kernel in KERNELS:
            for method, epsilon in (("none", "inf"), ("exact", "2")):
                decoded = decode_classes(fit(kernel, chooser("rr", method, epsilon, smallest, instances)), pair, 8)
                for label in list(decoded)[:2]:
                    words = ", ".join(f"{word.word} ({word.score:.2f})" for word in decoded[label])
                    print(f"{KERNELS[kernel]}, {method}, eps={epsilon}, {data['label_names'][label]}: {words}")


if __name__ == "__main__":
    main()
