"""A kernel density estimate that is asked for a budget."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.guarantee import Budget
from dpverify.learning.base import BudgetedEstimator
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.counters import BitCounter, VectorCounter, private_generator
from dpverify.learning.files.partitions import is_lazy, merged_partitions, rows_in
from dpverify.learning.files.sums import PartialSums, is_empty
from dpverify.learning.guarantee import PrivacyWarning, guarantee_of
from dpverify.learning.inputs import validated
from dpverify.learning.joint.points import PointPlan, better_points, point_plan
from dpverify.learning.scale import Scale
from protocols.kde import KernelDensityProtocol
from protocols.validation import check_choice, check_groups, check_integer

__all__ = ["PrivateDensity"]


class PrivateDensity(BudgetedEstimator):
    """Estimate the mean of a kernel over users who keep their points to themselves, within a privacy budget.

    Every user sends noisy bits of features of her point through a shuffler (Algorithm 1 of wagner2025). The budget is
    for replacing one user's point, and covers all that users send.

    For the inner product all she sends may instead be her point, rounded at random to integers, in one sum of vectors
    (docs/real_moves.md). It has a curator's error, nearly, where bits' rounding is most of theirs from some thousand
    users on; kernels of a distance win nothing by it (docs/densities.md).

    There is no `score_samples`, scikit-learn's logarithm of a density: an estimate with noise may be 0 or negative, and
    has none. `density` returns the estimate as it is; what is done with it afterwards costs no privacy.

    Parameters
    ----------
    epsilon, delta : number or decimal string
        The budget of a replaced point, epsilon in nats; `math.inf` is **no privacy**, and warns.
    kernel, bandwidth, bitsum, bits, public_scale, random_state, public_random_state
        As for `PrivateDensityClassifier`.
    sums : {"auto", "bits", "vectors"}
        What is added up; "vectors" plans for 1.15 times a curator's error. "auto" takes vectors for the inner product
        where their plan errs less than that of bits does for points in all directions, for no more messages, if the
        number of users is known beforehand and `bits` is not given.

    Attributes
    ----------
    guarantee_ : LearnedGuarantee
        What is guaranteed; there are no labels.
    protocol_ : KernelDensityProtocol or UnaryVectorSum
        What was run; `dpverify.account` of the fitted estimator computes its exact guarantee.
    estimate_ : KernelDensity or MeanDensity
        What was published.
    users_ : int
        How many users took part: public.
    noise_ : float
        The standard deviation of the noise of a density, for queries of norm 1; of vectors, rounding included.
    n_features_in_, feature_names_in_
        As always in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal([3.0, 0.0], 1.0, size=(5000, 2))
    >>> learned = PrivateDensity(epsilon=1, kernel="gaussian", public_scale=6.0, random_state=0).fit(X)
    >>> near, far = learned.density([[3.0, 0.0], [-4.0, 0.0]])
    >>> bool(near > far + 0.1)
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = 2.0,
        delta: Any = 1e-6,
        kernel: str = "inner-product",
        bandwidth: float | None = None,
        bitsum: str = "rr",
        bits: int | None = None,
        public_scale: Scale = "unit",
        random_state: int | np.random.Generator | None = None,
        public_random_state: int = 0,
        sums: Literal["auto", "bits", "vectors"] = "auto",
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.bitsum = bitsum
        self.bits = bits
        self.public_scale = public_scale
        self.random_state = random_state
        self.public_random_state = public_random_state
        self.sums = sums

    def fit(self, X: Any, y: Any = None) -> PrivateDensity:
        """Simulate the protocol on one user per row.

        Parameters
        ----------
        X : array_like or table, shape (users, dimension)
            The users' private points, also of Dask.
        y : ignored
            For scikit-learn's conventions.

        Returns
        -------
        PrivateDensity
            self.

        Raises
        ------
        InfeasibleBudgetError
            If no parameters meet the budget.
        TypeError, ValueError
            For a parameter or an input out of range.
        """
        if is_lazy(X):
            self._check_sums()
            users = rows_in(X) if self._may_be_vectors else None
            return self.fit_sums(merged_partitions(self, self._counter, X, users=users))
        return self._publish(self._counted(X, 0, None, whole=True))

    def fit_chunks(self, chunks: Iterable[Any], *, users: int | None = None) -> PrivateDensity:
        """Fit to users that arrive in groups, each as for `fit`, in memory that does not grow with their number.

        Parameters
        ----------
        chunks : iterable of X
            Each as for `fit`.
        users : int, optional
            How many there are in all groups together: vectors are planned for it; without it bits are taken.

        Returns
        -------
        PrivateDensity
            self.
        """
        groups = check_groups("chunks", chunks, "groups of points")
        counted = (self.partial_sums(X, part=part, users=users) for part, X in enumerate(groups) if not is_empty(X))
        return self._publish(self._merged(counted, "chunks"))

    def partial_sums(self, X: Any, *, part: int, users: int | None = None) -> PartialSums:
        """Count some of the users, **not privately**: as `PrivateDensityClassifier.partial_sums`, without labels.

        Parameters
        ----------
        X : array_like, shape (some, dimension)
            As for `fit`.
        part : int
            Which part of the users this is, at least 0. No part counts twice.
        users : int, optional
            How many there are in all parts together, as for `fit_chunks`.

        Returns
        -------
        PartialSums
            They add up, in any order, for `fit_sums`.
        """
        known = None if users is None else check_integer("users", users, low=1)
        return self._counted(X, check_integer("part", part, low=0), known)

    def density(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the estimated mean of k(x, y) over the users' points x, for every query y; it may be negative.

        Parameters
        ----------
        X : array_like, shape (queries, dimension)
            The queries, which are scaled as the users' points were.

        Returns
        -------
        ndarray of float64, shape (queries,)
        """
        queries = self._queries(X)
        return np.asarray(self.estimate_(queries))

    @property
    def _may_be_vectors(self) -> bool:
        free = self.sums == "vectors" or (self.sums == "auto" and self.bits is None)
        return free and self.kernel == "inner-product" and not self._no_privacy

    def _check_sums(self) -> Budget | None:
        """Check what needs no data, and return the budget."""
        check_choice("sums", self.sums, ("auto", "bits", "vectors"))
        if self.sums == "vectors" and not self._may_be_vectors:
            raise ValueError(f"sums={self.sums!r} must be 'auto' or 'bits' unless kernel='inner-product', and private.")
        return self._budget()

    def _vectors(self, public: PublicFeatures, users: int | None) -> PointPlan | None:
        """Return the plan of a sum of vectors for so many users; None where bits are summed."""
        budget = self._check_sums()
        if budget is None or not self._may_be_vectors:
            return None
        if self.sums == "vectors":
            if users is None:
                raise ValueError("users=None must be how many users there are in all where sums='vectors'.")
            return point_plan(budget, public.dimension, users)
        return None if users is None else better_points(public, self.bitsum, budget, users)

    def _counted(self, X: Any, part: int, users: int | None, *, whole: bool = False) -> PartialSums:
        self._check_sums()
        one = type(self)(**self.get_params(deep=False))
        points = validated(one, X)
        self._check_part(users, len(points))
        public, counter = self._counter(one.n_features_in_, 0, len(points) if whole else users)
        counts = counter(points, None, private_generator(self.random_state, part))
        parts, names = frozenset({part}), self._names_in(one)
        return PartialSums(public, counter.scale, np.empty(0), np.inf, counts, parts, self._seeded, names)

    def _counter(self, dimension: int, classes: int, users: int | None) -> tuple[Any, BitCounter | VectorCounter]:
        public, scale = self._public(dimension)
        vectors = self._vectors(public, users)
        if vectors is not None:
            return vectors, VectorCounter(vectors.plan.protocol, scale)
        return public, BitCounter(public.family, public.pairs, public.seed, scale)

    def _publish(self, sums: PartialSums) -> PrivateDensity:
        if isinstance(sums.public, PointPlan):
            return self._publish_vectors(sums, sums.public)
        public, scale = self._settings_of(sums, not len(sums.classes))
        (counts,) = sums.counts
        bitsums = self._planned(public, [counts.users])
        self.protocol_: Any = KernelDensityProtocol(bitsums(counts.users), public.drawn)
        made = self.protocol_.publish(counts, private_generator(self.random_state))
        self._know_columns(public.dimension, sums.names)
        self.scale_, self.users_ = scale, counts.users
        self.estimate_: Any = replace(made, clipped_fraction=None)  # a diagnostic that is not private
        self.guarantee_ = guarantee_of(bitsums.promised, None, self._notes(sums))
        (self.noise_,) = self._noises(public, [self.protocol_]).tolist()
        if self._no_privacy:
            warnings.warn(
                "Nothing protects the users' points: epsilon=inf is for comparison only.", PrivacyWarning, stacklevel=3
            )
        self._warn_of_noise(self.noise_, self.users_, "The estimate")
        return self

    def _publish_vectors(self, sums: PartialSums, sent: PointPlan) -> PrivateDensity:
        public, scale = self._public(sent.dimension)
        n = sums.users
        self._check_all(n, sent.plan.protocol.users)
        if (sent, sums.scale) != (self._vectors(public, n), scale):
            raise ValueError("sums must be partial sums of an estimator with the same parameters.")
        self._know_columns(sent.dimension, sums.names)
        (counts,) = sums.counts
        self.protocol_, self.scale_, self.users_ = sent.plan.protocol, scale, n
        self.estimate_, self.noise_ = sent.density(counts), sent.rmse
        self.guarantee_ = guarantee_of(sent.plan.guarantee, None, self._notes(sums))
        self._warn_of_noise(self.noise_, n, "The estimate", stacklevel=5)
        return self
