"""The accuracy of the classifier of wagner2025 with every kernel, bitsum, budget and way of accounting."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np

from dpverify.claims.bitsum.baselines import least_sigma
from dpverify.claims.lsq.linear import unbiased
from dpverify.claims.registry import claims_of
from dpverify.formulas import FormulaRangeError
from dpverify.guarantee import InfeasibleBudgetError
from dpverify.planning.plan import plan
from dpverify.reproduction.embeddings import Embeddings
from dpverify.reproduction.experiment import Setting
from protocols.bitsum import BitsumProtocol
from protocols.classifier import HighestDensityClassifier
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import FourierPairs, GaussianFeatures, LinearMap, LSQFamily, RandomSigns

__all__ = [
    "DELTA",
    "KERNELS",
    "SOURCES",
    "Way",
    "above_chance",
    "accuracies",
    "central",
    "differences",
    "family_of",
    "planned",
    "squared_change",
]

DELTA = "1e-6"
"""As the source has it for its larger data sets."""
KERNELS = ("Gaussian", "IP")
SOURCES = {
    "DBPedia-14": (560_000, 768, 14, "1e-6"),
    "AG News": (120_000, 768, 4, "1e-6"),
    "SST2": (67_300, 768, 2, "1e-5"),
    "CIFAR-10": (50_000, 6_144, 10, "1e-5"),
}
"""The data of wagner2025, section 4: users, dimension, classes and delta."""


class Way(StrEnum):
    """How parameters are found, and which features they go with."""

    PUBLISHED = "published"
    EXACT = "exact"
    JOINT = "joint"

    @property
    def method(self) -> str:
        """The method of `planning.plan`."""
        return "published" if self is Way.PUBLISHED else "exact"

    @property
    def joint(self) -> bool:
        """Whether the features' joint change is charged, and not each bit in full."""
        return self is Way.JOINT


def family_of(kernel: str, dimension: int, way: Way) -> tuple[LSQFamily, int]:
    """Return the features of a kernel and how many are drawn: d bits per user in every case."""
    if kernel == "Gaussian":
        if way.joint:
            return FourierPairs(dimension), max(dimension // 2, 1)
        return GaussianFeatures(dimension), dimension
    if way.joint:
        limit = min(2.0 / math.sqrt(dimension), 1.0)
        return unbiased(LinearMap(dimension, "haar", limit, radius=1.0)), 1
    return RandomSigns(dimension), dimension


def differences(data: Embeddings, *names: str) -> str:
    """Return how data, users, dimension and delta differ from the source's, in a sentence; from all without names."""
    theirs = "; ".join(
        f"{name}, n = {n:,}, d = {d:,}, {classes} classes, delta = {delta}"
        for name, (n, d, classes, delta) in SOURCES.items()
        if name in (names or SOURCES)
    )
    ours = f"{data.name}, n = {len(data.train[0]):,}, d = {data.dimension}, {data.classes} classes, delta = {DELTA}"
    return f"In the source: {theirs}. Here: {ours}."


def above_chance(data: Embeddings, accuracy: float | None) -> bool:
    """Return whether an accuracy is above that of the largest class of the held-out points by 3 standard errors."""
    labels = data.test[1]
    chance = float(np.bincount(labels).max()) / len(labels)
    return accuracy is not None and accuracy > chance + 3.0 * math.sqrt(chance * (1.0 - chance) / len(labels))


@functools.cache
def squared_change(kernel: str, dimension: int) -> float:
    """Return T^2 of the features that are charged together, for their public draw of seed 0."""
    family, pairs = family_of(kernel, dimension, Way.JOINT)
    return float(claims_of(family).squared_change(family.sample(pairs, np.random.default_rng(0))))


def planned(bitsum: str, way: Way, kernel: str, dimension: int, epsilon: str, users: int) -> BitsumProtocol | None:
    """Return a bitsum within the budget for d bits of so many users, or None where there is none."""
    return _planned(bitsum, way, squared_change(kernel, dimension) if way.joint else None, dimension, epsilon, users)


@functools.cache
def _planned(
    bitsum: str, way: Way, change: float | None, dimension: int, epsilon: str, users: int
) -> BitsumProtocol | None:
    if bitsum == "local-rr" and way.method == "published":
        way = Way.EXACT
    try:
        # The source composes Pure by the pure theorem.
        composition = "basic" if bitsum == "pure" and way.method == "published" else None
        found = plan(
            bitsum,
            (epsilon, DELTA),
            users=users,
            instances=dimension,
            method=way.method,
            squared_change=change,
            composition=composition,
        )
    except (InfeasibleBudgetError, FormulaRangeError):
        return None
    return found.protocol


def accuracies(
    setting: Setting,
    kernel: str,
    way: Way,
    label_epsilon: float | None,
    runs: int,
    choose: Callable[[int], BitsumProtocol | None] | None,
) -> list[float] | None:
    """Return the accuracy of some runs of fresh noise; without `choose` no noise; None where there are no parameters.

    Parameters are those of the smallest reported class of the run, as a class's protocol must be private for the number
    of users that it turns out to have.
    """
    data = setting.data
    if data.classes < 2:
        raise ValueError(f"{data.name} has labels y of one class, but must have two or more, to be told apart.")
    family, pairs = family_of(kernel, data.dimension, way)
    found = []
    for run in range(runs):
        bitsum: Callable[[int], BitsumProtocol] | None = None
        if choose is not None:
            smallest = int(np.bincount(_reported(setting, label_epsilon, run), minlength=data.classes).min())
            # A little fewer, so that runs share their plans: more noise than is needed.
            protocol = choose(max(smallest - smallest % max(smallest // 20, 1), 1))
            if protocol is None:
                return None
            bitsum = functools.partial(_of_size, protocol)
        model = HighestDensityClassifier(
            family,
            instances=pairs,
            bitsum=bitsum,
            label_epsilon=label_epsilon,
            random_state=_seed(setting, run),
        )
        found.append(float(model.fit(*data.train).score(*data.test)))
    return found


def central(setting: Setting, kernel: str, label_epsilon: float | None, epsilon: str, runs: int) -> list[float]:
    """Return the accuracy of a trusted curator: normal noise on the sums of the features that change together."""
    data, way = setting.data, Way.JOINT
    family, pairs = family_of(kernel, data.dimension, way)
    features = family.sample(pairs, np.random.default_rng(0))
    points, test = data.train[0], data.test
    values = features.f(points).reshape(len(points), -1)
    queries = features.g(test[0]).reshape(len(test[0]), -1)
    reach = 2.0 * family.R * math.sqrt(squared_change(kernel, data.dimension))
    sigma = least_sigma(float(epsilon), float(DELTA)) * reach
    found = []
    for run in range(runs):
        labels = _reported(setting, label_epsilon, run)
        noise = setting.generator(2, run).standard_normal((data.classes, values.shape[1]))
        sums = np.stack([values[labels == label].sum(axis=0) for label in range(data.classes)]) + sigma * noise
        means = sums / np.maximum(np.bincount(labels, minlength=data.classes), 1)[:, np.newaxis]
        found.append(float(np.mean((queries @ means.T).argmax(axis=1) == test[1])))
    return found


def _seed(setting: Setting, run: int) -> int:
    return 1_000 * setting.seed + run


def _reported(setting: Setting, label_epsilon: float | None, run: int) -> Any:
    """Return the labels that the classifier's own fit publishes: it draws them first."""
    labels = setting.data.train[1]
    if label_epsilon is None:
        return labels
    rng = np.random.default_rng(_seed(setting, run))
    return LabelRandomizedResponse(setting.data.classes, label_epsilon).randomize(labels, rng)


def _of_size(protocol: BitsumProtocol, users: int) -> BitsumProtocol:
    return replace(protocol, users=users)
