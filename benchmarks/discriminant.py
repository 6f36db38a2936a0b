"""One budget for labels, points and second moments: accuracy beside label responses, and from how many users on.

    python -m benchmarks.discriminant [EMBEDDINGS.npz] [--runs 2]

EMBEDDINGS holds points `X` (n, d) and labels `y`; without it the handwritten digits of scikit-learn, less 8. A fifth is
held out. At delta 1e-6 and each epsilon: `PrivateDensityClassifier`, whose labels take 5 on top of epsilon;
`PrivateDiscriminant` with and without second moments; and, as an **estimate** for more users than there are, the exact
moments of these users with normal noise of 1.1 times a trusted curator's error for so many.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestCentroid

from dpverify import PrivateDensityClassifier, PrivateDiscriminant
from dpverify.learning.joint.discriminant import second_moment_users
from dpverify.learning.joint.moments import SECOND_WEIGHT, ClassMoments, Moments
from dpverify.learning.scale import PublicScale
from dpverify.planning.sums.vectors import central_rmse

DELTA, RATIO = "1e-6", 1.1
Data = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def split(path: Path | None) -> Data:
    """Return points of norm 1 and labels, in an order that is fixed: of users, and of those held out."""
    if path is None:
        X, y = load_digits(return_X_y=True)
        X = X - 8.0
    else:
        with np.load(path) as file:
            X, y = file["X"].astype(np.float64), file["y"]
    X = PublicScale.of("unit")(X)
    order = np.random.default_rng(0).permutation(len(X))
    users, others = order[len(X) // 5 :], order[: len(X) // 5]
    return X[users], y[users], X[others], y[others]


def run(data: Data, epsilon: str, runs: int) -> None:
    """Print what is learned of the users that there are."""
    X, y, queries, truth = data
    makers: dict[str, Any] = {
        "label response, epsilon + 5": lambda seed: PrivateDensityClassifier(
            epsilon=epsilon, delta=DELTA, classes=np.unique(y), random_state=seed
        ),
        "one budget, means": lambda seed: PrivateDiscriminant(
            epsilon=epsilon, delta=DELTA, second_moment=False, classes=np.unique(y), random_state=seed
        ),
        "one budget, second moments": lambda seed: PrivateDiscriminant(
            epsilon=epsilon, delta=DELTA, second_moment=True, classes=np.unique(y), random_state=seed
        ),
    }
    for name, make in makers.items():
        start = time.perf_counter()
        made = [make(seed).fit(X, y) for seed in range(runs)]
        seconds = (time.perf_counter() - start) / runs
        found = [each.score(queries, truth) for each in made]
        plan = getattr(made[0], "plan_", None)
        sent = "" if plan is None else f", {plan.messages_per_user:,.0f} messages, {plan.bytes_per_user:,.0f} bytes"
        print(
            f"epsilon {epsilon}, n = {len(X):,}, {name}: {np.mean(found):.3f} ({seconds:.0f} s a fit{sent})", flush=True
        )


def estimate(data: Data, epsilon: str, users: int, second: bool, runs: int) -> None:
    """Print about what more users would learn: exact moments and the noise of so many."""
    X, y, queries, truth = data
    labels, rng = np.unique(y, return_inverse=True)[1], np.random.default_rng(users)
    made = ClassMoments(int(labels.max()) + 1, X.shape[1], second)
    points = made.turned(X)
    ones = np.eye(made.classes)[labels]
    size, rmse = made.coordinates, RATIO * central_rmse((epsilon, DELTA), made.coordinates)
    model = PrivateDiscriminant(classes=np.unique(y))
    model.map_, model.classes_, model.n_features_in_ = made, np.unique(y), X.shape[1]
    model.scale_, scores = PublicScale.of("unit"), []
    exact = np.concatenate([(ones.T @ points).ravel(), ones.sum(axis=0) * 0.3])
    if second:
        rows, columns = np.triu_indices(X.shape[1])
        entries = (points.T @ points)[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0))
        exact = np.concatenate([exact, SECOND_WEIGHT * entries])
    for _ in range(runs):
        noise = rng.normal(0.0, rmse / math.sqrt(size), size)
        found: Moments = made.moments(exact / made.weight * (users / len(X)) + noise, users)
        model._learn(found, rmse, users)
        scores.append(model.score(queries, truth))
    kind = "second moments" if second else "means"
    print(f"epsilon {epsilon}, n = {users:,}, estimate, {kind}: {np.mean(scores):.3f}", flush=True)


def main() -> None:
    """Run what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("embeddings", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--estimates", action="store_true", help="Estimates alone, which take seconds.")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    data = split(arguments.embeddings)
    X, y, queries, truth = data
    clean = [made.fit(X, y).score(queries, truth) for made in (NearestCentroid(), LinearDiscriminantAnalysis())]
    print(f"n = {len(X):,}, d = {X.shape[1]}, without noise: means {clean[0]:.3f}, LDA {clean[1]:.3f}")
    for epsilon in ("0.25", "0.5", "1"):
        print(f"second moments pay from {second_moment_users((epsilon, DELTA), X.shape[1]):,} users on")
        if not arguments.estimates:
            run(data, epsilon, arguments.runs)
        for users in (10**4, 3 * 10**4, 10**5, 10**6):
            for second in (False, True):
                estimate(data, epsilon, users, second, 4 * arguments.runs)


if __name__ == "__main__":
    main()
