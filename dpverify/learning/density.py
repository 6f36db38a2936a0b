"""A kernel density estimate that is asked for a budget."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.learning.base import BudgetedEstimator, private_generator
from dpverify.learning.files.partitions import is_lazy, merged_partitions
from dpverify.learning.files.sums import PartialSums, is_empty
from dpverify.learning.guarantee import PrivacyWarning, guarantee_of
from dpverify.learning.inputs import validated
from dpverify.learning.scale import Scale
from protocols.kde import KernelDensityProtocol
from protocols.streaming import count_bits, default_chunk_size
from protocols.validation import check_groups, check_integer

__all__ = ["PrivateDensity"]


class PrivateDensity(BudgetedEstimator):
    """Estimate the mean of a kernel over users who keep their points to themselves, within a privacy budget.

    Every user sends noisy bits of features of her point through a shuffler (Algorithm 1 of wagner2025). The budget is
    for replacing one user's point, and covers all that users send.

    For the inner product sums of vectors err less (docs/real_moves.md), which the class means are learned by of
    `PrivateDiscriminant`.

    There is no `score_samples`, scikit-learn's logarithm of a density: an estimate with noise may be 0 or negative, and
    has none. `density` returns the estimate as it is; what is done with it afterwards costs no privacy.

    Parameters
    ----------
    epsilon, delta : number or decimal string
        The budget of a replaced point, epsilon in nats; `math.inf` is **no privacy**, and warns.
    kernel, bandwidth, bitsum, bits, public_scale, random_state, public_random_state
        As for `PrivateDensityClassifier`.

    Attributes
    ----------
    guarantee_ : LearnedGuarantee
        What is guaranteed; there are no labels.
    protocol_ : KernelDensityProtocol
        What was run; `dpverify.account` of the fitted estimator computes its exact guarantee.
    users_ : int
        How many users took part: public.
    noise_ : float
        The standard deviation of the noise of a density, for queries of norm 1.
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
            self._budget()
            return self.fit_sums(merged_partitions(self, X))
        return self._publish(self._counted(X, 0))

    def fit_chunks(self, chunks: Iterable[Any]) -> PrivateDensity:
        """Fit to users that arrive in groups, each as for `fit`, in memory that does not grow with their number."""
        groups = check_groups("chunks", chunks, "groups of points")
        counted = (self.partial_sums(X, part=part) for part, X in enumerate(groups) if not is_empty(X))
        return self._publish(self._merged(counted, "chunks"))

    def partial_sums(self, X: Any, *, part: int) -> PartialSums:
        """Count some of the users, **not privately**: as `PrivateDensityClassifier.partial_sums`, without labels."""
        return self._counted(X, check_integer("part", part, low=0))

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
        return self.estimate_(queries)

    def _counted(self, X: Any, part: int) -> PartialSums:
        self._budget()
        one = type(self)(**self.get_params(deep=False))
        points = validated(one, X)
        public, scale = self._public(one.n_features_in_)
        names = getattr(one, "feature_names_in_", None)
        size = default_chunk_size(public.drawn)
        scaled = (part for _, part in self._scaled(points, scale, size))
        counts = count_bits(public.drawn, scaled, private_generator(self.random_state, part), chunk_size=size, name="X")
        labels = None if names is None else tuple(names.tolist())
        return PartialSums(public, scale, np.empty(0), np.inf, (counts,), frozenset({part}), self._seeded, labels)

    def _publish(self, sums: PartialSums) -> PrivateDensity:
        public, scale = self._settings_of(sums, not len(sums.classes))
        (counts,) = sums.counts
        bitsums = self._planned(public, [counts.users])
        self.protocol_ = KernelDensityProtocol(bitsums(counts.users), public.drawn)
        made = self.protocol_.publish(counts, private_generator(self.random_state))
        self._know_columns(public.dimension, sums.names)
        self.scale_, self.users_ = scale, counts.users
        self.estimate_ = replace(made, clipped_fraction=None)  # a diagnostic that is not private
        self.guarantee_ = guarantee_of(bitsums.promised, None, self._notes(sums))
        (self.noise_,) = self._noises(public, [self.protocol_]).tolist()
        if self._no_privacy:
            warnings.warn(
                "Nothing protects the users' points: epsilon=inf is for comparison only.", PrivacyWarning, stacklevel=3
            )
        self._warn_of_noise(self.noise_, self.users_, "The estimate")
        return self
