"""Nearest class means and linear discriminant analysis, from one private sum of vectors under one budget."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from dpverify.guarantee import Budget, BudgetLike, InfeasibleBudgetError
from dpverify.learning.base import FIXED_SEED, SummedEstimator
from dpverify.learning.files.counters import VectorCounter, private_generator
from dpverify.learning.files.partitions import is_lazy, merged_partitions, rows_in
from dpverify.learning.files.sums import PartialSums, is_empty, pairs_of
from dpverify.learning.guarantee import LearnedGuarantee, PrivacyWarning
from dpverify.learning.inputs import validated
from dpverify.learning.joint.moments import SECOND_WEIGHT, ClassMoments, Moments
from dpverify.learning.joint.rule import linear_rule
from dpverify.learning.joint.sending import JointPlan, joint_plan
from dpverify.learning.labels import LABELS_TAKEN, check_kinds, check_same, indexed
from dpverify.learning.scale import PublicScale, Scale
from dpverify.planning.sums.vectors import VectorPlan, central_rmse
from protocols.validation import check_integer, check_real

__all__ = ["PrivateDiscriminant", "second_moment_users"]

_PAYS = 3.5
"""The size of the noise of a second moment over a point's mean square in a direction, from which down it pays."""


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


class PrivateDiscriminant(ClassifierMixin, SummedEstimator):  # type: ignore[misc]
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
        The public set of labels, each once, at least two. None takes the labels that occur in y, which **makes that set
        public**.
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
            The users' private points: an array, a DataFrame, or a Dask array or DataFrame, whose partitions are counted
            where they are.
        y : array_like, shape (users,)
            Their private labels; of Dask where X is.

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
        if is_lazy(X) or is_lazy(y):
            self._check()
            return self.fit_sums(merged_partitions(self, self._counter, X, y, users=rows_in(X)))
        return self._publish(self._counted(X, y, 0, None))

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]], *, users: int) -> PrivateDiscriminant:
        """Fit to users in groups, such as `dpverify.learning.files.data.read_chunks` reads them from a file.

        Equal in law to `fit` on all of them at once, in memory that does not grow with their number. That is said
        beforehand, as what each of them sends depends on it.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Each as for `fit`. `classes` must be given.
        users : int
            How many there are in all groups together: public.

        Returns
        -------
        PrivateDiscriminant
            self.

        Raises
        ------
        TypeError
            If a group is no pair.
        ValueError
            As for `fit`, or if there are more or fewer users: then nothing is learned.
        """
        pairs = enumerate(pairs_of(chunks))
        counted = (self.partial_sums(*pair, part=part, users=users) for part, pair in pairs if not is_empty(*pair))
        return self._publish(self._merged(counted, "chunks"))

    def partial_sums(self, X: Any, y: Any, *, part: int, users: int) -> PartialSums:
        """Count what some of the users send, with their part of the noise; the estimator stays as it is.

        Parameters
        ----------
        X, y : array_like, shapes (some, d) and (some,)
            As for `fit`. `classes` must be given, and be the same everywhere.
        part : int
            Which part of the users this is, at least 0. No part counts twice, also where it is tried again.
        users : int
            How many there are in all parts together: public.

        Returns
        -------
        PartialSums
            They add up, in any order, for `fit_sums`. **Not private** before they are of all users.
        """
        if self.classes is None:
            raise ValueError("classes=None must be the public labels where users are counted part by part.")
        return self._counted(X, y, check_integer("part", part, low=0), check_integer("users", users, low=1))

    def planned(self, dimension: int, users: int) -> VectorPlan:
        """Return what so many users will send, its error and its price; `classes` must be given.

        That takes about ten seconds for a million users, and minutes for 10^8.

        Parameters
        ----------
        dimension : int
            Of their points.
        users : int
            n, public, at most 10^9.

        Returns
        -------
        VectorPlan
        """
        self._check()
        if self.classes is None:
            raise ValueError("classes=None must be the public labels where nobody is there yet.")
        known, _ = indexed(np.asarray(self.classes), self.classes)
        d = check_integer("dimension", dimension, low=1)
        return self._sent(len(known), d, check_integer("users", users, low=1)).plan

    def _check(self) -> Budget:
        """Check what needs no data, and return the budget."""
        budget = Budget(self.epsilon, self.delta)
        if not isinstance(self.second_moment, bool) and self.second_moment != "auto":
            raise ValueError(f"second_moment={self.second_moment!r} must be 'auto', True or False.")
        check_integer("public_random_state", self.public_random_state, low=0)
        return budget

    def _sent(self, classes: int, dimension: int, users: int) -> JointPlan:
        """Return what is sent, by public numbers alone."""
        budget = self._check()
        if self.classes is not None and np.size(self.classes) > classes:
            raise ValueError(f"classes={self.classes!r} must have each label once.")
        if classes < 2:
            raise ValueError(f"classes has {classes} label, but must have at least 2, to be told from each other.")
        second = users >= second_moment_users(budget, dimension, ratio=self.ratio)
        if self.second_moment != "auto":
            second = self.second_moment
        made = ClassMoments(classes, dimension, second, self.public_random_state)
        return joint_plan(budget, made, users, self.ratio)

    def _counted(self, X: Any, y: Any, part: int, users: int | None) -> PartialSums:
        self._check()
        one = clone(self)  # which scikit-learn's checks of the input may change
        check_kinds(y)
        points, targets = validated(one, X, y)
        check_classification_targets(targets)
        classes, labels = indexed(targets, self.classes)
        self._check_part(users, len(points))
        sent, counter = self._counter(one.n_features_in_, len(classes), len(points) if users is None else users)
        counts = counter(points, labels, private_generator(self.random_state, part))
        parts, names = frozenset({part}), self._names_in(one)
        return PartialSums(sent, counter.scale, classes, math.inf, counts, parts, self._seeded, names)

    def _counter(self, dimension: int, classes: int, users: int | None) -> tuple[JointPlan, VectorCounter]:
        sent = self._sent(classes, dimension, check_integer("users", users, low=1))
        return sent, VectorCounter(sent.plan.protocol, PublicScale.of(self.public_scale), sent.made)

    def _publish(self, sums: PartialSums) -> PrivateDiscriminant:
        n, sent = sums.users, sums.public
        if not isinstance(sent, JointPlan):
            raise ValueError("sums must be partial sums of a PrivateDiscriminant.")
        self._check_all(n, sent.plan.protocol.users)
        check_same(sums.classes, self.classes)
        if (sent, sums.scale) != (self._sent(len(sums.classes), sent.dimension, n), PublicScale.of(self.public_scale)):
            raise ValueError("sums must be partial sums of an estimator with the same parameters.")
        notes = (() if self.classes is not None else (LABELS_TAKEN,)) + (
            (FIXED_SEED,) if self._seeded or sums.seeded else ()
        )
        (found,) = sums.counts
        total = sent.plan.protocol.analyze(found.counts)
        for sentence in self.adopt(sent, total, sums.classes, sums.names, sums.scale, notes):
            warnings.warn(sentence, PrivacyWarning, stacklevel=3)
        return self

    def adopt(
        self,
        sent: JointPlan,
        total: NDArray[np.float64],
        classes: NDArray[Any],
        names: tuple[str, ...] | None,
        scale: PublicScale,
        notes: tuple[str, ...],
    ) -> list[str]:
        """Learn from what has been published, also by another estimator with the same parameters: that costs nothing.

        Parameters
        ----------
        sent : JointPlan
            What users have sent.
        total : numpy.ndarray of float64, shape (coordinates,)
            The estimate of its sum.
        classes : numpy.ndarray, shape (n_classes,)
            The public labels.
        names : tuple of str or None
            The columns' names, of a table.
        scale : PublicScale
            What users have done to their points.
        notes : tuple of str
            What a reader of the guarantee must know.

        Returns
        -------
        list of str
            What a user of it should be warned of.
        """
        self._know_columns(sent.dimension, names)
        # What a model file needs, whatever is set afterwards; a seed it does not.
        self._fitted_with = {**self.get_params(deep=False), "random_state": None}
        self.classes_, self.scale_, self.map_, self.plan_ = classes, scale, sent.made, sent.plan
        self.protocol_, self.published_ = sent.plan.protocol, total
        self.guarantee_ = LearnedGuarantee(self.plan_.guarantee, self.plan_.guarantee, notes)
        n = self.protocol_.users
        return self._learn(sent.made.moments(total, n), self.plan_.rmse, n)

    def _learn(self, found: Moments, rmse: float, users: int) -> list[str]:
        """Make a rule of what was published, with this error of the sum, and return what to warn of."""
        made = self.map_
        self.moments_ = found
        self.noise_ = rmse / math.sqrt(made.coordinates) * made.weight / users
        self.coef_, self.intercept_, self.predicted_, said = linear_rule(found, self.noise_, users)
        return said

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
