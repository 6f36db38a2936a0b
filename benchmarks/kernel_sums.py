"""Densities of embeddings by kernels of a distance: what sums of their features as one vector would err by.

    python -m benchmarks.kernel_sums EMBEDDINGS.npz [--users 10000] [--bandwidth 0.5]

EMBEDDINGS holds points `X` (n, d) of norm 1. Against the exact mean of the kernel, at points held out: features as one
vector, exact but for normal noise of 1.15 times a curator's error, which is an **estimate**, as such vectors are
not built; and the features alone, which bits have, too (docs/densities.md). Ten minutes for 10,000 users.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from dpverify.planning.kernels.rungs import drawn, features_of
from dpverify.planning.sums.vectors import central_rmse

DELTA, RATIO = "1e-6", 1.15
BITS = 1024


def main() -> None:
    """Print the RMSE of each way, kernel and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--bandwidth", type=float, default=0.5)
    parser.add_argument("--queries", type=int, default=500)
    arguments = parser.parse_args()
    with np.load(arguments.embeddings) as file:
        X = file["X"].astype(np.float64)
    X = X[np.random.default_rng(0).permutation(len(X))]
    users, queries, rng = X[: arguments.users], X[-arguments.queries :], np.random.default_rng(1)
    n, d = users.shape
    for kernel in ("exponential", "gaussian"):
        exact = np.empty(len(queries))
        family, pairs = features_of(kernel, d, arguments.bandwidth, BITS)
        for place, query in enumerate(queries):
            exact[place] = float(np.mean(family.kernel(users, query[np.newaxis])))
        features = drawn(family, pairs)
        mean = sum(features.f(users[at : at + 250]).sum(axis=0) for at in range(0, n, 250)) / n
        g, size = features.g(queries), features.coordinates
        for epsilon in ("inf", "0.25", "0.5", "1"):
            # A user's features are of norm R sqrt(I Q) at most, and each has its share of the noise of norm 1.
            noise = 0.0 if epsilon == "inf" else RATIO * central_rmse((epsilon, DELTA), size) * family.R / n
            found = np.einsum("...ij,ij->...", g, mean + rng.normal(0.0, noise, mean.shape)) / pairs
            rmse = math.sqrt(float(np.mean(np.square(found - exact))))
            print(f"{kernel} (mean {exact.mean():.3f}), epsilon {epsilon}, {BITS:,} features: {rmse:.4f}", flush=True)


if __name__ == "__main__":
    main()
