"""The highest density class (HDC) classifier (wagner2025, section 3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.bitsum import BitsumProtocol, ExactSum
from protocols.classes.optional import needing
from protocols.kde import KernelDensity, KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.lsq import GaussianFeatures, LSQFamily, LSQFeatures, RandomSigns
from protocols.lsq.base import Seed, public_generator
from protocols.streaming import BitCounts, chunked, count_bits, default_chunk_size, evaluate
from protocols.validation import check_generator, check_groups, check_integer, check_real, check_vectors

with needing("A classifier"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["HighestDensityClassifier"]

_FEWEST_INSTANCES = 512
"""With fewer random features the kernel itself is too rough to learn with: its error is about one over their root."""


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r} must be one of {choices}.")


class HighestDensityClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the class with the highest privately estimated density.

    `fit` simulates the two rounds of the protocol. First each user publishes her label by randomized response. Then the
    users of each *reported* class run `KernelDensityProtocol` among themselves, with their number, the public reported
    count, as n. (What this guarantees: wagner2025, Corollary 3.4.)

    **By default points are not private**: `bitsum=None` sums the bits exactly.

    Parameters
    ----------
    features : LSQFamily, "gaussian" or "inner-product"
        The kernel. The strings stand for `GaussianFeatures(dimension, bandwidth)` and `RandomSigns(dimension)`.
    bandwidth : float
        The bandwidth of `features="gaussian"`, in the units of the points; it must stay 1 with other features.
    instances : int, optional
        I, the number of instances; by default the dimension, as in wagner2025's experiments, but at least 512 (1 for
        a deterministic family).
    bitsum : callable, optional
        `bitsum(users)` returns the `BitsumProtocol` for a class with that public reported count, so that its parameters
        may differ from class to class. None is the exact sum, which gives **no privacy**.
    label_epsilon : float, optional
        epsilon of the label's randomized response, in (0, 700] nats. None publishes the labels **in the clear**.
    classes : array_like, shape (n_classes,), optional
        The public set of labels. None takes the labels that occur in y, which **makes that set public**.
    empty_class : {"never", "error"}
        What to do with a class that nobody reported and that so has no density: leave it out of `classes_`, so that it
        is never predicted, or refuse to fit.
    unit_norm : {"check", "normalize"}
        Whether users' points off the unit sphere are refused where the features need them on it, or every point and
        query is divided by its norm (each user can do that alone, so it costs no privacy).
    chunk_size : int, optional
        Users, or queries, handled at a time; see `protocols.streaming.memory_needed`.
    random_state : int, numpy.random.Generator or None
        The users' and the shuffler's private randomness: numpy's PCG64, which is not cryptographic, as this is a
        simulation; None takes its seed from the operating system.
    public_random_state : int, numpy.random.Generator or None
        The public randomness of the features. A fixed default is harmless, since the features are published anyway.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
        The classes that have a density, sorted.
    empty_classes_ : ndarray, shape (n_empty_classes,)
        The classes that nobody reported; empty unless `empty_class="never"`.
    reported_counts_ : ndarray of int64, shape (n_classes,)
        The users who reported each of `classes_`.
    features_ : LSQFeatures
        The public features. All classes share one draw: it is public, so this costs no privacy, each class's estimate
        keeps its law, and the part of the feature noise that is common to the classes cancels when they are compared.
    densities_ : list of KernelDensity
        One per class, in the order of `classes_`.
    n_features_in_ : int
        The dimension of the points.

    Examples
    --------
    >>> import numpy as np
    >>> from protocols.bitsum import RandomizedResponse
    >>> points = np.repeat([[1.0, 0.0], [0.0, 1.0]], 500, axis=0)
    >>> model = HighestDensityClassifier(
    ...     bitsum=lambda users: RandomizedResponse(users, 0.1), label_epsilon=5.0, instances=64, random_state=7
    ... )
    >>> model.fit(points, np.repeat([0, 1], 500)).predict([[0.9, 0.1], [0.1, 0.9]]).tolist()
    [0, 1]
    """

    def __init__(
        self,
        features: LSQFamily | Literal["gaussian", "inner-product"] = "gaussian",
        *,
        bandwidth: float = 1.0,
        instances: int | None = None,
        bitsum: Callable[[int], BitsumProtocol] | None = None,
        label_epsilon: float | None = 5.0,
        classes: ArrayLike | None = None,
        empty_class: Literal["never", "error"] = "never",
        unit_norm: Literal["check", "normalize"] = "check",
        chunk_size: int | None = None,
        random_state: Seed = None,
        public_random_state: Seed = 0,
    ) -> None:
        self.features = features
        self.bandwidth = bandwidth
        self.instances = instances
        self.bitsum = bitsum
        self.label_epsilon = label_epsilon
        self.classes = classes
        self.empty_class = empty_class
        self.unit_norm = unit_norm
        self.chunk_size = chunk_size
        self.random_state = random_state
        self.public_random_state = public_random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> HighestDensityClassifier:
        """Simulate the protocol on one user per row.

        X has shape (users, dimension), the users' private points, and y shape (users,), their private labels.
        ValueError for a parameter out of range, a point that the features do not accept, a label outside `classes`, or
        a class that nobody reported.
        """
        _check_choice("empty_class", self.empty_class, ("error", "never"))
        _check_choice("unit_norm", self.unit_norm, ("check", "normalize"))
        if self.bitsum is not None and not callable(self.bitsum):
            raise TypeError(
                f"bitsum={self.bitsum!r} must be None, or a function from the users of a class to a protocol."
            )
        rng = self._private_generator()
        points, targets = validate_data(self, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False)
        if targets.dtype == object and len({isinstance(label, str) for label in targets}) > 1:
            raise ValueError("y must hold texts alone, or numbers alone: labels of several kinds have no order.")
        check_classification_targets(targets)
        family = self._family()
        usual = 1 if family.deterministic else max(family.dimension, _FEWEST_INSTANCES)
        features = family.sample(
            usual if self.instances is None else self.instances, public_generator(self.public_random_state)
        )
        size = self._chunk_size(features)
        # All points are checked first: here errors can give the caller's row numbers, and no user has taken part yet.
        for name, chunk in chunked("X", points, size):
            family.accepted(self._prepared(chunk, name), name=name)
        classes, labels = self._labels(targets)
        if self.label_epsilon is not None:
            check_real("label_epsilon", self.label_epsilon, low=0.0, high=700.0, low_open=True)
            labels = LabelRandomizedResponse(len(classes), self.label_epsilon).randomize(labels, rng)
        self._refuse_empty(classes, np.bincount(labels, minlength=len(classes)))

        def parts(members: NDArray[np.int64]) -> Iterable[NDArray[Any]]:
            return (self._prepared(points[members[start : start + size]]) for start in range(0, len(members), size))

        counted = (
            count_bits(features, parts(np.flatnonzero(labels == label)), rng, chunk_size=size)
            for label in range(len(classes))
        )
        return self.publish(features, classes, counted, rng)

    def publish(
        self, features: LSQFeatures, classes: ArrayLike, counts: Iterable[BitCounts], rng: np.random.Generator
    ) -> HighestDensityClassifier:
        """Fit to bits that have been counted: the second half of `fit`, for users whose points are in many places.

        The features are the public ones that the bits were rounded from, the classes the public labels, sorted, shape
        (n_classes,), and the counts for each class those of the users who *reported* it. ValueError as for `fit`.
        """
        check_generator("rng", rng)
        reported, densities = [], []
        for count in check_groups("counts", counts, "BitCounts, one for each class"):
            if not isinstance(count, BitCounts):
                raise TypeError(f"counts={count!r} must be BitCounts, as count_bits returns them.")
            reported.append(count.users)
            if count.users:
                protocol = KernelDensityProtocol(self._bitsum(count.users), features)
                densities.append(protocol.publish(count, rng))
        known, sizes = np.asarray(classes), np.array(reported, dtype=np.int64)
        if known.shape != sizes.shape:
            raise ValueError(
                f"classes has shape {known.shape}, but must have one entry for each of {sizes.size} counts."
            )
        self._refuse_empty(known, sizes)
        self.adopt(features, known[sizes > 0], known[sizes == 0], sizes[sizes > 0], densities)
        return self

    def adopt(
        self,
        features: LSQFeatures,
        classes: NDArray[Any],
        empty_classes: NDArray[Any],
        reported_counts: NDArray[np.int64],
        densities: list[KernelDensity],
    ) -> None:
        """Take as learned what has been published, also by another classifier with the same parameters."""
        self.n_features_in_ = features.family.dimension
        self.classes_, self.empty_classes_, self.reported_counts_ = classes, empty_classes, reported_counts
        self.features_, self.densities_ = features, densities

    def class_protocols(self) -> list[KernelDensityProtocol]:
        """Return the protocol that each of `classes_` has run, with the users who reported it; for a fitted one."""
        check_is_fitted(self)
        return [self.class_protocol(int(count)) for count in self.reported_counts_]

    def class_protocol(self, users: int) -> KernelDensityProtocol:
        """Return the protocol that a class runs if so many users report it; for a fitted one."""
        check_is_fitted(self)
        return KernelDensityProtocol(self._bitsum(users), self.features_)

    def class_densities(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return every class's density estimate at every query, shape (queries, n_classes); some may be negative."""
        check_is_fitted(self)
        queries = validate_data(self, X, dtype=(np.float64, np.float32), ensure_all_finite=False, reset=False)
        weights = np.stack([density.weights for density in self.densities_], axis=1)
        return evaluate(self.features_, weights, self._prepared(queries), chunk_size=self._chunk_size(self.features_))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return `class_densities(X)`, or for two classes, as scikit-learn has it, the second minus the first."""
        densities = self.class_densities(X)
        return densities[:, 1] - densities[:, 0] if densities.shape[1] == 2 else densities

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of highest density for every query, shape (queries,); the first of `classes_` in a tie."""
        densities = self.class_densities(X)
        return np.asarray(self.classes_[densities.argmax(axis=1)])

    def _private_generator(self) -> np.random.Generator:
        if self.random_state is None or isinstance(self.random_state, np.random.Generator):
            return np.random.default_rng(self.random_state)
        return np.random.default_rng(check_integer("random_state", self.random_state, low=0))

    def _family(self) -> LSQFamily:
        dimension = self.n_features_in_
        if isinstance(self.features, str) and self.features == "gaussian":
            return GaussianFeatures(dimension, self.bandwidth)
        if self.bandwidth != 1.0:
            raise ValueError(f'bandwidth={self.bandwidth!r} must be 1 unless features="gaussian".')
        if isinstance(self.features, str) and self.features == "inner-product":
            return RandomSigns(dimension)
        if not isinstance(self.features, LSQFamily):
            raise TypeError(f'features={self.features!r} must be an LSQFamily, "gaussian" or "inner-product".')
        if self.features.dimension != dimension:
            raise ValueError(f"features.dimension={self.features.dimension} must be the dimension of X, {dimension}.")
        return self.features

    def _labels(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.classes is None:
            classes, indices = np.unique(y, return_inverse=True)
            return classes, indices
        classes = np.unique(np.asarray(self.classes))
        known = np.isin(y, classes)
        if not known.all():
            user = int(np.argmin(known))
            raise ValueError(f"y[{user}]={y[user]} must be one of classes={classes.tolist()}.")
        return classes, np.searchsorted(classes, y)

    def _refuse_empty(self, classes: NDArray[Any], counts: NDArray[np.int64]) -> None:
        if self.empty_class == "error" and not counts.all():
            raise ValueError(
                f"Class {classes[np.argmin(counts)]} was reported by nobody, but each class must have at least 1 user"
                ' (or set empty_class="never").'
            )

    def _bitsum(self, users: int) -> BitsumProtocol:
        if self.bitsum is None:
            return ExactSum(users)
        protocol = self.bitsum(users)
        if not isinstance(protocol, BitsumProtocol) or protocol.users != users:
            raise ValueError(
                f"bitsum({users}) returned {protocol!r}, but must return a BitsumProtocol with users={users}."
            )
        return protocol

    def _chunk_size(self, features: LSQFeatures) -> int:
        if self.chunk_size is None:
            return default_chunk_size(features)
        return check_integer("chunk_size", self.chunk_size, low=1)

    def _prepared(self, X: NDArray[Any], name: str = "X") -> NDArray[Any]:
        if self.unit_norm == "check":
            return X
        norms = np.linalg.norm(check_vectors(name, X), axis=1, keepdims=True)
        if not norms.all():
            raise ValueError(f"{name}[{int(np.argmin(norms))}] is the zero vector, which cannot be normalized.")
        return np.asarray(X / norms)
