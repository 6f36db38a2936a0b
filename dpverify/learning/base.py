"""What the estimators share: their public settings, their randomness, and the parameters of every count."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpverify.claims.registry import claims_of
from dpverify.guarantee import Budget, Guarantee
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.counters import BitCounter, VectorCounter
from dpverify.learning.files.sums import PartialSums
from dpverify.learning.guarantee import PrivacyWarning, promised_by
from dpverify.learning.inputs import validated
from dpverify.learning.planner import BITSUMS, Planner
from dpverify.learning.scale import PublicScale, default_bandwidth
from dpverify.planning.kernels.rungs import kernels
from protocols.bitsum import BitsumProtocol, ExactSum
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensityProtocol
from protocols.validation import check_choice, check_groups

__all__ = ["BudgetedEstimator", "PlannedBitsums", "SummedEstimator", "rmse_of"]

_MOST_NOISE = 0.1
"""A density's noise, of a kernel of 1 at most, above which classes are hard to tell apart."""
FIXED_SEED = "random_state is fixed: who knows it can take the noise away, so it is for experiments"


@dataclass(frozen=True)
class PlannedBitsums:
    """The bitsum of every number of users that was met, to look up.

    - by_users: All of them.
    - promised: What every number of users is planned for, also those that were not met; None without privacy.
    """

    by_users: dict[int, BitsumProtocol]
    promised: Guarantee | None = None

    def __call__(self, users: int) -> BitsumProtocol:
        """Return the protocol of this number of users."""
        return self.by_users[users]


class SummedEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that is fitted to sums over parts of the users."""

    random_state: Any

    @property
    def _seeded(self) -> bool:
        return self.random_state is not None

    def fit_sums(self, sums: PartialSums | Iterable[PartialSums]) -> Self:
        """Fit to the sums of all users: add the noise and publish, once: a second call is another release.

        - sums: Of an estimator with the same parameters.

        Returns: self. Raises ValueError if there is nobody, or sums do not fit together, or to this estimator.
        """
        return self._publish(self._merged(sums))

    @abstractmethod
    def _counter(self, dimension: int, classes: int, users: int | None) -> tuple[Any, BitCounter | VectorCounter]:
        """Return what is public of users' features, and what counts so many users, with their labels if they have any.

        - classes: How many labels there are; 0 for an estimator without.
        - users: How many take part in all; None where it does not matter.
        """

    @abstractmethod
    def _publish(self, sums: PartialSums) -> Self:
        """Add the noise, and take what is published as learned."""

    @staticmethod
    def _merged(sums: PartialSums | Iterable[PartialSums], name: str = "sums") -> PartialSums:
        """Return one sum of one or several, which the caller knows by this name."""
        if isinstance(sums, PartialSums):
            return sums
        total: PartialSums | None = None
        for one in check_groups(name, sums, "PartialSums, as partial_sums returns them"):
            if not isinstance(one, PartialSums):
                raise TypeError(f"sums={one!r} must be PartialSums, as partial_sums returns them.")
            total = one if total is None else total + one
        if total is None:
            raise ValueError(f"{name} has no users, but must have at least 1.")
        return total

    @staticmethod
    def _names_in(validated: Any) -> tuple[str, ...] | None:
        """Return the columns' names that scikit-learn's checks have left in an estimator, of a table."""
        names = getattr(validated, "feature_names_in_", None)
        return None if names is None else tuple(names.tolist())

    @staticmethod
    def _check_part(users: int | None, here: int) -> None:
        """Raise ValueError if there are to be fewer users in all than in one part of them."""
        if users is not None and users < here:
            raise ValueError(f"users={users!r} must be how many there are in all, at least this part's {here}.")

    @staticmethod
    def _check_all(users: int, planned: int) -> None:
        """Raise ValueError unless all users take part that each one's share of the noise was planned for."""
        if users != planned:  # less would lack noise
            raise ValueError(f"sums has {users:,} users, but must have the users={planned} it was told of.")

    def _know_columns(self, dimension: int, names: tuple[str, ...] | None) -> None:
        """Take what scikit-learn has every estimator know of the columns."""
        self.n_features_in_ = dimension
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # of an earlier fit
            del self.feature_names_in_


class BudgetedEstimator(SummedEstimator):
    """An estimator with the parameters epsilon, delta, kernel, bandwidth, bitsum, bits and public_scale."""

    epsilon: Any
    delta: Any
    kernel: str
    bandwidth: float | None
    bitsum: str
    bits: int | None
    public_scale: Any
    public_random_state: int
    scale_: PublicScale

    @property
    def _no_privacy(self) -> bool:
        return isinstance(self.epsilon, float) and self.epsilon == math.inf

    def _budget(self) -> Budget | None:
        """Return the checked budget of a replaced point, None for no privacy."""
        check_choice("bitsum", self.bitsum, BITSUMS)
        if self._no_privacy:
            return None
        budget = Budget(self.epsilon, self.delta)
        if budget.delta == 0.0:
            raise ValueError(f"delta={self.delta!r} must be in (0, 1): joint changes have no small largest loss.")
        return budget

    def _public(self, dimension: int) -> tuple[PublicFeatures, PublicScale]:
        """Return the public settings for points of a dimension."""
        kernel = check_choice("kernel", self.kernel, tuple(kernels()))
        scale = PublicScale.of(self.public_scale)
        bandwidth = default_bandwidth(kernel, scale, dimension) if self.bandwidth is None else self.bandwidth
        return PublicFeatures(kernel, dimension, bandwidth, self.bits, self.public_random_state), scale

    def _settings_of(self, sums: PartialSums, fits: bool) -> tuple[PublicFeatures, PublicScale]:
        """Return the public settings, which must be those of the sums, as must be what else is said to fit."""
        found = self._public(sums.public.dimension)
        if not fits or found != (sums.public, sums.scale):
            raise ValueError("sums must be partial sums of an estimator with the same parameters.")
        return found

    def _queries(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return queries, scaled as the users' points were."""
        check_is_fitted(self)
        queries = validated(self, X, reset=False)
        return self.scale_(queries)

    def plan_for(self, sums: PartialSums, progress: Callable[[int, int], object]) -> None:
        """Make the plans that `fit_sums` needs for these sums, which takes seconds; they are remembered.

        - sums: Of all users.
        - progress: `progress(done, total)` in plans: before the first one, and after every one.

        Raises InfeasibleBudgetError if no parameters meet the budget.
        """
        if not isinstance(sums, PartialSums):
            raise TypeError(f"sums={sums!r} must be PartialSums, as partial_sums returns them.")
        if not callable(progress):
            raise TypeError(f"progress={progress!r} must be a function of the plans that are done, and of all.")
        planned = isinstance(sums.public, PublicFeatures)  # vectors were, before anybody sent one
        users = [count.users for count in sums.counts if count.users and planned]
        progress(0, len(users))
        for done, count in enumerate(users, 1):
            self._planned(sums.public, [count])
            progress(done, len(users))

    def _planned(self, public: PublicFeatures, counts: Sequence[int]) -> PlannedBitsums:
        """Return the bitsum for each count of users, and what is promised of all: nothing without a budget."""
        budget = self._budget()
        if budget is None:
            return PlannedBitsums({count: ExactSum(count) for count in counts})
        planner = Planner(self.bitsum, budget, public.drawn.coordinates, public.squared_change)
        return PlannedBitsums({count: planner(count) for count in counts}, promised_by(budget))

    @staticmethod
    def _noises(public: PublicFeatures, protocols: Iterable[KernelDensityProtocol]) -> NDArray[np.float64]:
        """Return the deviation of each density's noise, at a query of norm 1."""
        return np.array([public.noise(rmse_of(made.bitsum), made.users) for made in protocols])

    def _warn_of_noise(self, noise: float, users: int, who: str, share: float = 1.0, *, stacklevel: int = 4) -> None:
        """Warn where noise drowns what there is to learn, and say how many users it would take.

        - noise: The deviation of the worst density's noise, which hardly depends on n but for the factor 1/n.
        - users: How many users that density has.
        - who: What they are called.
        - share: By how much randomized labels shrink the differences between classes.
        - stacklevel: As of `warnings.warn`: of whoever called `fit`.
        """
        if noise > _MOST_NOISE * share:
            labels = "" if share > 0.99 else f", which randomized labels shrink to {share:.2g}"
            needed = math.ceil(users * noise / (_MOST_NOISE * share))
            warnings.warn(
                f"{who} has {users:,} user{'s' if users > 1 else ''}, and noise of standard deviation {noise:.2g} on a "
                f"density of a kernel of 1 at most{labels}: at this budget about {needed:,} users are needed.",
                PrivacyWarning,
                stacklevel=stacklevel,
            )

    def _notes(self, sums: PartialSums) -> tuple[str, ...]:
        return (FIXED_SEED,) if (self._seeded or sums.seeded) and not self._no_privacy else ()


def rmse_of(bitsum: BitsumProtocol) -> float:
    """Return the root mean squared error of a bitsum in users: 0 for exact sums, which have no twin."""
    return 0.0 if isinstance(bitsum, ExactSum) else float(claims_of(bitsum).rmse(bitsum))
