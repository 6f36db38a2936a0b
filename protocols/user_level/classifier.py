"""A classifier learned from users with many examples each (ghazi2021, Algorithm 4 and Theorems 30 and 35).

With shared public randomness most users' samples lead to the same hypothesis, so that the one that most of them found
can be selected with little noise, whatever each of them holds. The three theorems differ in the selection alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.optional import needing
from protocols.user_level.stable_learner import StableLearner
from protocols.validation import check_bits

with needing("A classifier"):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.validation import check_is_fitted

__all__ = ["UserLevelClassifier"]


class _Selects(Protocol):
    """A selection: `HadamardSelection`, `ExponentialSelection` or `protocols.selection.Selection`."""

    def run(self, values: ArrayLike, rng: np.random.Generator) -> Any:
        """Return a value that many users hold."""


class UserLevelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Let every user learn by herself with shared randomness, and select the hypothesis that most have found.

    **By default nothing is private**: `selection=None` returns the most frequent hypothesis exactly.

    Neighbours differ in all examples of one user; the number of users, and which rows are one user's, is public. A
    user contributes one value, her hypothesis, so that the fit has the privacy of the selection, whatever the data.

    Parameters
    ----------
    learner : StableLearner
        What every user runs: `WeighingLearner` or `QueryLearner`.
    selection : callable, optional
        `selection(users, candidates)` returns the selection for so many users and hypotheses: a `HadamardSelection`
        (local model), an `ExponentialSelection` (central model), a `Selection` (shuffle model).
    random_state : int, numpy.random.Generator or None
        The private randomness of users and selection: numpy's PCG64, which is not cryptographic, as this is a
        simulation; None takes its seed from the operating system.
    public_random_state : int, numpy.random.Generator or None
        The public randomness that all users share. It must not depend on their data.

    Attributes
    ----------
    classes_ : ndarray
        The labels, 0 and 1.
    public_ : PublicLearner
        The learner with its public randomness.
    hypothesis_ : int
        The selected row of `public_.table`.
    selection_ : object
        The selection that was run, or None.
    n_users_, n_features_in_ : int
        The number of users, and of columns.

    Examples
    --------
    Sixty users with 400 labelled points each learn where a threshold lies; no one learns much about any of them.

    >>> import numpy as np
    >>> from protocols.user_level.central_selection import ExponentialSelection
    >>> from protocols.user_level.classifier import UserLevelClassifier
    >>> from protocols.user_level.representations import Thresholds
    >>> from protocols.user_level.stable_learner import WeighingLearner
    >>> X = np.random.default_rng(1).integers(0, 16, (24_000, 1))
    >>> y = (X[:, 0] >= 5).astype(int)
    >>> model = UserLevelClassifier(
    ...     WeighingLearner(Thresholds(16), sharpness=100),
    ...     lambda users, candidates: ExponentialSelection(users, candidates, epsilon=1.0),
    ...     random_state=2,
    ... )
    >>> print(model.fit(X, y, groups=np.repeat(np.arange(60), 400)).score(X, y))
    1.0
    """

    def __init__(
        self,
        learner: StableLearner,
        selection: Callable[[int, int], _Selects] | None = None,
        *,
        random_state: int | np.random.Generator | None = None,
        public_random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.learner = learner
        self.selection = selection
        self.random_state = random_state
        self.public_random_state = public_random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> UserLevelClassifier:
        """Simulate the protocol.

        X has shape (samples, features), integers as `Representation.encode` takes them, y shape (samples,), 0 or 1, and
        `groups` the user of each example: all are one user's when omitted, whose own learner is then run alone.
        TypeError if `learner` is no StableLearner, ValueError for an example out of range, or shapes that do not fit.
        """
        if not isinstance(self.learner, StableLearner):
            raise TypeError(f"learner={self.learner!r} must be a StableLearner.")
        points, labels = self.learner.representation.encode(X), check_bits("y", y)
        users = np.zeros(points.shape, dtype=np.int64) if groups is None else np.asarray(groups)
        for name, array in (("y", labels), ("groups", users)):
            if array.shape != points.shape or not array.size:
                raise ValueError(f"{name} has shape {array.shape}, but must have shape {points.shape}, not empty.")
        public = self.learner.drawn(np.random.default_rng(self.public_random_state))
        of_user = np.unique(users, return_inverse=True)[1]
        order = np.argsort(of_user, kind="stable")
        starts = np.flatnonzero(np.diff(of_user[order], prepend=-1))
        found = np.array([public.learn(points[rows], labels[rows]) for rows in np.split(order, starts[1:])])
        if self.selection is None:
            selection, hypothesis = None, np.bincount(found).argmax()
        else:
            selection = self.selection(found.size, len(public.table))
            # A child seed: with the same integer for both, public and private randomness must not be one stream.
            private = self.random_state
            if not isinstance(private, np.random.Generator):
                private = np.random.default_rng(np.random.SeedSequence(private).spawn(1)[0])
            hypothesis = selection.run(found, private)
        self.classes_ = np.array([0, 1])
        self.n_users_, self.n_features_in_ = int(found.size), int(self.learner.representation.features)
        self.public_, self.selection_, self.hypothesis_ = public, selection, int(hypothesis)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the label of every row, shape (samples,)."""
        check_is_fitted(self)
        labels = self.public_.table[self.hypothesis_][self.learner.representation.encode(X)]
        return np.asarray(labels, dtype=np.int64)
