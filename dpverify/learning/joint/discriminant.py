"""Nearest class means and linear discriminant analysis, from one private sum of vectors under one budget."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError
from dpverify.learning.base import FIXED_SEED, private_generator
from dpverify.learning.guarantee import LearnedGuarantee, PrivacyWarning
from dpverify.learning.inputs import validated
from dpverify.learning.joint.moments import COUNT_WEIGHT, SECOND_WEIGHT, ClassMoments, Moments
from dpverify.learning.labels import LABELS_TAKEN, check_kinds, indexed
from dpverify.learning.scale import PublicScale, Scale
from dpverify.planning.sums.vectors import VectorPlan, central_rmse, plan_vectors
from protocols.validation import check_integer, check_real

__all__ = ["PrivateDiscriminant", "second_moment_users"]

_BLOCK_ENTRIES = 2**22
_PAYS = 3.5
"""The size of the noise of a second moment over a point's mean square in a direction, from which down it pays."""
_SHRUNK = 3.0
"""By how much more than that ratio a covariance is drawn to a multiple of the identity."""


def second_moment_users(budget: BudgetLike, dimension: int, *, ratio: float = 1.1) -> int:
    """Return from how many users on a second moment pays beside class means, about.

    The noise of a second moment has a largest eigenvalue of about its deviation times the root of 2 d, where a point of
    norm 1 has a mean square of 1 / d in a direction: it pays from a quotient of 3.5 down, as was measured
    (docs/private_classifier.md). On other points it may from fewer users on, or from more.

    Parameters
    ----------
    budget : Budget or (epsilon, delta)
        delta positive.
    dimension : int
        d, at least 1.
    ratio : float
        The error over that of central Gaussian noise, above 1.

    Returns
    -------
    int
        n.

    Raises
    ------
    TypeError, ValueError
        For an argument out of range.
    InfeasibleBudgetError
        If delta is 0.

    Examples
    --------
    >>> second_moment_users(("1", "1e-6"), 384)
    49...
    """
    target, d = Budget.of(budget), check_integer("dimension", dimension, low=1)
    check_real("ratio", ratio, low=1.0, low_open=True)
    if target.delta == 0.0:
        raise InfeasibleBudgetError(f"delta={target.delta!r} must be positive: one count may lose any amount.")
    deviation = ratio * central_rmse(target, 1) * ClassMoments(1, d, True).weight
    return math.ceil(deviation / SECOND_WEIGHT * math.sqrt(2.0 * d) * d / _PAYS)


class PrivateDiscriminant(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn to classify from users who keep points *and labels* to themselves, within one budget for both.

    Each user sends one vector of norm at most 1: her point in the place of her label, a count, and, where it pays, the
    products of her point's coordinates (`dpverify.learning.joint.moments`), as shuffled signed unary messages
    (docs/vector_sums.md). Their noisy sum tells the classes' shares and means, and the covariance within classes, which
    all share: the rule is that of linear discriminant analysis, and without second moments the nearest mean.

    Labels have no epsilon of their own: `epsilon` and `delta` hold where a user's point, her label or both are
    replaced. `fit` simulates the protocol.

    Parameters
    ----------
    epsilon, delta : number or decimal string
        Of everything a user sends, epsilon in nats, positive; delta in (0, 1).
    second_moment : "auto" or bool
        Whether users send second moments, too; "auto" does so from `second_moment_users` on. They cost means a fifth
        more noise, and messages.
    ratio : float
        The error of the sum over that of a trusted curator's Gaussian noise, above 1: the smaller, the more messages.
    public_scale : "unit", float or (low, high)
        What every user does to her point, by public numbers, as for `PrivateDensityClassifier`.
    classes : array_like, shape (n_classes,), optional
        The public set of labels. None takes the labels that occur in y, which **makes that set public**.
    random_state : int, numpy.random.Generator or None
        The private randomness: numpy's PCG64, which is **not cryptographic**, as this is a simulation. A number is for
        experiments: who knows it can take the noise away.
    public_random_state : int
        Of the public rotation of points.

    Attributes
    ----------
    guarantee_ : LearnedGuarantee
        What is guaranteed: the same for both kinds of neighbours, replace-one, towards all who see what users send.
    plan_ : VectorPlan
        What was run, with its error, messages and bytes; `protocol_` is its protocol, which `dpverify.account` takes.
    moments_ : Moments
        What was published: estimates of shares, of share times mean for each class, and of the second moment.
    noise_ : float
        The deviation of an entry of `moments_.sums`, at most.
    predicted_ : numpy.ndarray of bool, shape (n_classes,)
        Which classes have more users than three deviations of the noise, and are predicted; all, with a warning, where
        the noise of an even share is more than a seventh of it.
    classes_, n_features_in_, feature_names_in_
        As always in scikit-learn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(4000) % 2
    >>> X = rng.normal(size=(4000, 5)) + 2.0 * y[:, None]
    >>> learned = PrivateDiscriminant(epsilon=1, classes=[0, 1], public_scale=8.0, random_state=0).fit(X, y)
    >>> bool(learned.score(X, y) > 0.9), learned.moments_.second is not None
    (True, True)
    >>> learned.guarantee_.epsilon <= 1
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: Any = 1e-6,
        second_moment: Literal["auto"] | bool = "auto",
        ratio: float = 1.1,
        public_scale: Scale = "unit",
        classes: ArrayLike | None = None,
        random_state: int | np.random.Generator | None = None,
        public_random_state: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.second_moment = second_moment
        self.ratio = ratio
        self.public_scale = public_scale
        self.classes = classes
        self.random_state = random_state
        self.public_random_state = public_random_state

    def fit(self, X: Any, y: Any) -> PrivateDiscriminant:
        """Simulate the protocol on one user per row.

        Parameters
        ----------
        X : array_like or table, shape (users, dimension)
            The users' private points.
        y : array_like, shape (users,)
            Their private labels.

        Returns
        -------
        PrivateDiscriminant
            self.

        Raises
        ------
        InfeasibleBudgetError
            If no parameters meet the budget.
        TypeError, ValueError
            For a parameter or an input out of range.
        """
        budget = Budget(self.epsilon, self.delta)
        if not isinstance(self.second_moment, bool) and self.second_moment != "auto":
            raise ValueError(f"second_moment={self.second_moment!r} must be 'auto', True or False.")
        check_kinds(y)
        points, targets = validated(self, X, y)
        check_classification_targets(targets)
        self.classes_, labels = indexed(targets, self.classes)
        self.scale_ = PublicScale.of(self.public_scale)
        n, d = points.shape
        second = n >= second_moment_users(budget, d, ratio=self.ratio)
        if self.second_moment != "auto":
            second = self.second_moment
        seed = check_integer("public_random_state", self.public_random_state, low=0)
        made = ClassMoments(len(self.classes_), d, second, seed)
        self.map_ = made
        self.plan_: VectorPlan = plan_vectors(
            budget, users=n, dimension=made.coordinates, ratio=self.ratio, clip=made.clip, l1=made.l1
        )
        self.protocol_ = self.plan_.protocol
        total, rng = np.zeros(made.coordinates), private_generator(self.random_state)
        size = max(1, _BLOCK_ENTRIES // made.coordinates)
        for start in range(0, n, size):  # parts of the users bring their parts of the noise
            here = slice(start, start + size)
            vectors = made.vectors(self.scale_(points[here], name=f"X[{start}:]" if start else "X"), labels[here])
            total += self.protocol_.analyze(self.protocol_.sample_view(vectors, rng))
        notes = (() if self.classes is not None else (LABELS_TAKEN,)) + (
            () if self.random_state is None else (FIXED_SEED,)
        )
        self.guarantee_ = LearnedGuarantee(self.plan_.guarantee, self.plan_.guarantee, notes)
        self._learn(made.moments(total, n), self.plan_.rmse, n)
        return self

    def _learn(self, found: Moments, rmse: float, users: int) -> None:
        """Make a rule of what was published, with this error of the sum: that costs nothing."""
        made, d = self.map_, self.n_features_in_
        self.moments_ = found
        self.noise_ = rmse / math.sqrt(made.coordinates) * made.weight / users
        shares = np.maximum(found.shares, max(self.noise_, 1.0 / users))
        means, variances = found.sums / shares[:, np.newaxis], (self.noise_ / shares) ** 2
        whole = 1.0 if found.second is None else float(np.trace(found.second))
        within = found.sums.T @ means  # what of the second moment lies between classes, and what noise adds
        added = float(np.sum(shares * variances))
        level = max((whole - float(np.trace(within))) / d + added, 1e-3 / d)
        roots, directions = np.full(d, level), np.eye(d)
        if found.second is not None:
            covariance = found.second - 0.5 * (within + within.T) + added * np.eye(d)
            roots, directions = np.linalg.eigh(covariance)
            noise = self.noise_ / SECOND_WEIGHT * math.sqrt(2.0 * d)
            share = noise / (noise + _SHRUNK * level)
            roots = (1.0 - share) * np.maximum(roots, 0.0) + share * level
        inverse = (directions / roots) @ directions.T
        self.coef_ = means @ inverse
        lengths = np.sum(self.coef_ * means, axis=1) - np.trace(inverse) * variances
        self.intercept_ = np.log(shares / shares.sum()) - 0.5 * lengths
        counts = self.noise_ / COUNT_WEIGHT  # the deviation of a share
        hidden = 7.0 * counts * made.classes  # up to 1 an even share is hardly ever taken for none
        longer = self.noise_ * math.sqrt(d) * made.classes  # than a mean of norm 1 of an even share
        self.predicted_ = found.shares > 3.0 * counts
        if hidden > 1.0 or not self.predicted_.any():
            self.predicted_[:] = True
        said = []
        if none := np.count_nonzero(~self.predicted_):
            said.append(
                f"{none:,} of {made.classes:,} classes have no more users than noise has, and are not predicted."
            )
        for noise, what in (
            (hidden, "The noise hides which classes have users"),
            (longer, "The noise of a class's mean is longer than the mean can be"),
        ):
            if noise > 1.0:
                said.append(
                    f"{what}: about {math.ceil(users * noise):,} users are needed at this budget, more than the "
                    f"{users:,} that there are."
                )
        for sentence in said:
            warnings.warn(sentence, PrivacyWarning, stacklevel=3)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return what `predict` maximizes, shape (queries, n_classes); for two classes the second minus the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest score for every query, shape (queries,); the first of `classes_` in a tie."""
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        queries = self.map_.turned(self.scale_(validated(self, X, reset=False)))
        scores = np.asarray(queries @ self.coef_.T + self.intercept_)
        scores[:, ~self.predicted_] = scores[:, self.predicted_].min(axis=1, keepdims=True) - 1.0
        return scores
