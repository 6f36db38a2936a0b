"""The largest error over 1,000 queries, simulated, beside the exact interval of the supremum and Theorem 3.2's bound.

For every kernel and bitsum: users' points are unit vectors around one direction, queries are drawn from each family's
domain and include the worst query that is known. Instances are independent, so each of `--runs` instances is a run of
the protocol with I = 1, from which the error at I instances follows as bias^2 + variance / I.

    python benchmarks/kde_error.py --users 300 --dimension 8 --instances 384
"""

from __future__ import annotations

import argparse

import numpy as np

from dpverify.claims.kde.error import sup_rmse
from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, InfeasibleBudgetError
from dpverify.planning.plan import plan
from protocols.kde import KernelDensityProtocol
from protocols.lsq import (
    ExponentialTessellation,
    GaussianFeatures,
    Identity,
    LaplacianBinning,
    LSQFamily,
    RandomSigns,
)

BITSUMS = ("rr", "3nb", "nb", "pure", "central-gaussian")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--dimension", type=int, default=8)
    parser.add_argument("--instances", type=int, default=384)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--epsilon", default="2")
    arguments = parser.parse_args()
    users, d = arguments.users, arguments.dimension
    rng = np.random.default_rng(1)
    x = 0.4 * rng.normal(size=(users, d)) + rng.normal(size=d)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    queries = rng.normal(size=(1000, d))
    queries *= rng.random((1000, 1)) ** (1 / d) / np.linalg.norm(queries, axis=1, keepdims=True)
    families: tuple[LSQFamily, ...] = (
        GaussianFeatures(d),
        RandomSigns(d),
        Identity(d),
        *(kernel(d, 2.0, buckets, signed) for kernel in (LaplacianBinning, ExponentialTessellation)
          for buckets, signed in ((64, False), (1, True), (64, True))),
    )  # fmt: skip
    print("family | bitsum | simulated, standard error | exact interval | Theorem 3.2 | slack")
    for bitsum in BITSUMS:
        try:
            row = plan(bitsum, Budget(arguments.epsilon, "1e-6"), users=users, instances=arguments.instances)
        except InfeasibleBudgetError as error:
            print(f"{bitsum}: {error}")
            continue
        for family in families:
            instances = 1 if family.deterministic else arguments.instances
            rmse = claims_of(row.protocol).rmse_over_inputs(row.protocol)
            worst = sup_rmse(family, x, instances=instances, bitsum_rmse=rmse)
            y = np.concatenate([queries[:-1], worst.query[np.newaxis]])
            truth = family.kernel(x, y).mean(axis=0)
            if family.deterministic:
                features = family.sample(1, rng)
                protocol = KernelDensityProtocol(row.protocol, features)
                errors = np.array([protocol.simulate(x, rng)(y) - truth for _ in range(arguments.runs)]).T
            else:
                features = family.sample(arguments.runs, rng)
                published = KernelDensityProtocol(row.protocol, features).simulate(x, rng).published
                parts = [
                    np.einsum("ij,yij->yi", published, features.g(y[start : start + 50])) / users
                    for start in range(0, len(y), 50)
                ]
                bias = np.zeros(len(y)) if family.beta < 1e-6 else (1 - truth) / family.Q
                errors = np.concatenate(parts) - (truth + bias)[:, np.newaxis]
                errors = bias[:, np.newaxis] + errors / np.sqrt(instances)
            # The worst query is chosen by one half of the runs and its error estimated from the other half: the largest
            # of 1,000 estimates would be too large.
            half = arguments.runs // 2
            squares = errors[np.argmax(np.mean(errors[:, :half] ** 2, axis=1)), half:] ** 2
            simulated = np.sqrt(squares.mean())
            spread = squares.std(ddof=1) / np.sqrt(squares.size) / (2 * simulated)
            name = type(family).__name__ + (
                f" Q={family.Q}{' signed' * family.signed}" if hasattr(family, "signed") else ""
            )
            print(
                f"{name} | {bitsum} | {simulated:.5f} +- {spread:.5f} | "
                f"{worst.sup_rmse} | {worst.published:.4f} | {worst.slack}",
                flush=True,
            )


if __name__ == "__main__":
    main()
