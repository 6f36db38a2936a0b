"""A classifier that is asked for a budget: features, bitsums and their parameters are planned from public numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets

from dpverify.learning.base import BudgetedEstimator
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.counters import BitCounter, private_generator
from dpverify.learning.files.partitions import is_lazy, merged_partitions
from dpverify.learning.files.sums import PartialSums, is_empty, pairs_of
from dpverify.learning.guarantee import LearnedGuarantee, PrivacyWarning, guarantee_of
from dpverify.learning.inputs import validated
from dpverify.learning.labels import LABELS_TAKEN, check_kinds, check_same, indexed
from dpverify.learning.nearest_mean import squared_norms
from dpverify.learning.scale import PublicScale, Scale
from protocols.classifier import HighestDensityClassifier
from protocols.local.labels import LabelRandomizedResponse
from protocols.validation import check_choice, check_integer, check_real

__all__ = ["PrivateDensityClassifier"]

RULES = ("auto", "density", "nearest-mean")


class PrivateDensityClassifier(ClassifierMixin, BudgetedEstimator):  # type: ignore[misc]
    """Learn to classify from users who keep their points to themselves, within a privacy budget.

    Each user publishes her label by randomized response, and sends noisy bits of features of her point through a
    shuffler, together with all who *reported* the same label. `fit` simulates this: see
    `protocols.classifier.HighestDensityClassifier`, and docs/private_classifier.md for how to use it.

    **What the budget means.** `epsilon` and `delta` hold where one user's *point* is replaced. Where her *label* is
    replaced, too, it is `epsilon + label_epsilon`, by default 2 + 5 = 7: `guarantee_` states both, for all that users
    send. Features and parameters follow from public numbers: the dimension, and how many users reported each label.

    **One budget for labels, too,** and less error of class means: `PrivateDiscriminant`.

    **What costs no privacy, and what does.** Each user scales her point by public numbers (`public_scale`). A scaler
    that is fitted to the points, and a search for the best parameters on them, is not private: choose public bounds,
    and search on other, public data. Whether `score` on held-out points may be told is for their owners to say.

    There is no `predict_proba`: densities are estimates that may be negative, and no calibrated chances; on public
    labelled points `sklearn.calibration.CalibratedClassifierCV` of the frozen classifier makes such of
    `decision_function`.

    Parameters
    ----------
    epsilon : number or decimal string
        Of a replaced point, in nats, positive. `math.inf` is **no privacy**, for comparison, and warns.
    delta : number or decimal string
        In (0, 1).
    label_epsilon : float
        Of the label's randomized response, in (0, 700] nats, on top of epsilon. `math.inf` publishes labels in the
        clear, and warns.
    kernel : {"inner-product", "gaussian", "laplacian", "exponential"}
        The inner product has the least noise and suits embeddings; the others, exp(-|x - y|^2 / h^2),
        exp(-|x - y|_1 / h) and exp(-|x - y| / h), see shapes, and need more users.
    bandwidth : float, optional
        h, in units of the scaled points; a public default when omitted (`dpverify.learning.scale.default_bandwidth`),
        and `bandwidth_from_gamma` makes one of scikit-learn's gamma. None for the inner product.
    bitsum : str
        One of `dpverify.learning.planner.BITSUMS`: "rr" sends the fewest messages.
    bits : int, optional
        Features of a user, one bit each; by default 1,024, and for the inner product the dimension, at least 256.
    public_scale : "unit", float or (low, high)
        What every user does to her point: divide it by its norm; or cut it to a public radius; or cut its coordinates
        to public bounds, one for all or one for each. The result is in the unit ball.
    rule : {"auto", "density", "nearest-mean"}
        The class of highest density, or that whose mean in the kernel's space is nearest: the density less half the
        square of the mean's norm, which is estimated from the same published numbers. "auto" is the latter for the
        inner product, where mean norms matter, and the former else; "nearest-mean" is for the inner product only.
    classes : array_like, shape (n_classes,), optional
        The public set of labels. None takes the labels that occur in y, which **makes that set public**.
    empty_class : {"never", "error"}
        What to do with a class that nobody reported: never predict it, with a warning, or refuse to fit.
    random_state : int, numpy.random.Generator or None
        The private randomness: numpy's PCG64, which is **not cryptographic**, as this is a simulation; None takes its
        seed from the operating system. A number is for experiments: who knows it can take the noise away.
    public_random_state : int
        The public randomness of the features.

    Attributes
    ----------
    guarantee_ : LearnedGuarantee
        What is guaranteed, for both kinds of neighbours.
    protocol_ : HighestDensityClassifier
        What was run; `dpverify.account` of the fitted estimator computes its exact guarantee.
    classes_, reported_counts_ : ndarray, shape (n_classes,)
        The labels that were reported, and by how many users: published.
    noise_ : ndarray of float64, shape (n_classes,)
        The standard deviation of the noise of each class's density, for queries of norm 1.
    bandwidth_ : float or None
        That of the scaled points; None for the inner product.
    n_features_in_, feature_names_in_
        As always in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(4000) % 2
    >>> X = rng.normal(size=(4000, 5)) + 2.0 * y[:, None]
    >>> learned = PrivateDensityClassifier(epsilon=2, delta=1e-6, label_epsilon=5, random_state=0).fit(X, y)
    >>> bool(learned.score(X, y) > 0.9)
    True
    >>> learned.guarantee_.point.epsilon <= 2 and learned.guarantee_.epsilon <= 7
    True
    """

    def __init__(
        self,
        *,
        epsilon: Any = 2.0,
        delta: Any = 1e-6,
        label_epsilon: float = 5.0,
        kernel: str = "inner-product",
        bandwidth: float | None = None,
        bitsum: str = "rr",
        bits: int | None = None,
        public_scale: Scale = "unit",
        rule: Literal["auto", "density", "nearest-mean"] = "auto",
        classes: ArrayLike | None = None,
        empty_class: Literal["never", "error"] = "never",
        random_state: int | np.random.Generator | None = None,
        public_random_state: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.label_epsilon = label_epsilon
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.bitsum = bitsum
        self.bits = bits
        self.public_scale = public_scale
        self.rule = rule
        self.classes = classes
        self.empty_class = empty_class
        self.random_state = random_state
        self.public_random_state = public_random_state

    def fit(self, X: Any, y: Any) -> PrivateDensityClassifier:
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
        PrivateDensityClassifier
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
            return self.fit_sums(merged_partitions(self, self._counter, X, y))
        return self._publish(self._counted(X, y, 0))

    def fit_chunks(self, chunks: Iterable[tuple[Any, Any]]) -> PrivateDensityClassifier:
        """Fit to users in groups, such as `dpverify.learning.files.data.read_chunks` reads them from a file.

        Equal in law to `fit` on all of them at once. Only the sums of one group are kept, so memory does not grow with
        the number of users.

        Parameters
        ----------
        chunks : iterable of (X, y)
            Each as for `fit`. `classes` must be given.

        Returns
        -------
        PrivateDensityClassifier
            self.

        Raises
        ------
        TypeError
            If a group is no pair.
        ValueError
            As for `fit`, or if there is nobody.
        """
        return self._publish(self.chunk_sums(chunks))

    def chunk_sums(self, chunks: Iterable[tuple[Any, Any]]) -> PartialSums:
        """Return the sums of users that arrive in groups, **not private**: the first half of `fit_chunks`."""
        pairs = enumerate(pairs_of(chunks))
        return self._merged(
            (self.partial_sums(*pair, part=part) for part, pair in pairs if not is_empty(*pair)), "chunks"
        )

    def partial_sums(self, X: Any, y: Any, *, part: int) -> PartialSums:
        """Count some of the users; the estimator stays as it is.

        Parameters
        ----------
        X, y : array_like, shapes (n, d) and (n,)
            As for `fit`. `classes` must be given, and be the same everywhere.
        part : int
            Which part of the users this is, at least 0. No part counts twice, also where it is tried again.

        Returns
        -------
        PartialSums
            They add up, in any order. **Not private**: see `dpverify.learning.files.sums`.
        """
        if self.classes is None:
            raise ValueError("classes=None must be the public labels where users are counted part by part.")
        return self._counted(X, y, check_integer("part", part, low=0))

    def class_densities(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the density estimate of every class at every query.

        Parameters
        ----------
        X : array_like, shape (queries, dimension)
            The queries, which are scaled as the users' points were.

        Returns
        -------
        ndarray of float64, shape (queries, n_classes)
            In the order of `classes_`; entries may be negative.
        """
        queries = self._queries(X)
        return self.protocol_.class_densities(queries)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return what `predict` maximizes, shape (queries, n_classes); for two classes the second minus the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of the largest score for every query, shape (queries,); the first of `classes_` in a tie."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        return self.class_densities(X) - 0.5 * self.squared_norms_

    def _check(self) -> None:
        """Check what needs no data."""
        self._budget()
        check_choice("rule", self.rule, RULES)
        check_choice("empty_class", self.empty_class, ("never", "error"))
        if self.rule == "nearest-mean" and self.kernel != "inner-product":
            raise ValueError(f"rule={self.rule!r} must be 'auto' or 'density' unless kernel='inner-product'.")
        if not (isinstance(self.label_epsilon, float) and self.label_epsilon == math.inf):
            check_real("label_epsilon", self.label_epsilon, low=0.0, high=700.0, low_open=True)

    def _counted(self, X: Any, y: Any, part: int) -> PartialSums:
        """Randomize the labels of some users, and count the bits of those who report each."""
        self._check()
        one = clone(self)  # which scikit-learn's checks of the input may change
        check_kinds(y)
        points, targets = validated(one, X, y)
        check_classification_targets(targets)
        classes, labels = indexed(targets, self.classes)
        public, counter = self._counter(one.n_features_in_, len(classes))
        counts = counter(points, labels, private_generator(self.random_state, part))
        parts, names = frozenset({part}), self._names_in(one)
        return PartialSums(public, counter.scale, classes, counter.label_epsilon, counts, parts, self._seeded, names)

    def _counter(self, dimension: int, classes: int, users: int | None = None) -> tuple[PublicFeatures, BitCounter]:
        public, scale = self._public(dimension)
        return public, BitCounter(public.family, public.pairs, public.seed, scale, classes, float(self.label_epsilon))

    def _publish(self, sums: PartialSums) -> PrivateDensityClassifier:
        self._check()
        public, scale = self._settings_of(sums, self.label_epsilon == sums.label_epsilon)
        check_same(sums.classes, self.classes)
        bitsums = self._planned(public, [count.users for count in sums.counts if count.users])
        made = HighestDensityClassifier(
            public.family,
            instances=public.pairs,
            bitsum=bitsums,
            label_epsilon=None if self.label_epsilon == math.inf else self.label_epsilon,
            classes=sums.classes.tolist(),
            empty_class=self.empty_class,
            public_random_state=self.public_random_state,
        )
        made.publish(public.drawn, sums.classes, sums.counts, private_generator(self.random_state))
        self.adopt(made, sums.names, scale, guarantee_of(bitsums.promised, self.label_epsilon, self._notes(sums)))
        self._warn()
        return self

    def adopt(
        self,
        made: HighestDensityClassifier,
        names: tuple[str, ...] | None,
        scale: PublicScale,
        guarantee: LearnedGuarantee,
    ) -> None:
        """Take as learned what has been published, also by another classifier with the same parameters.

        Parameters
        ----------
        made : HighestDensityClassifier
            Fitted.
        names : tuple of str or None
            The columns' names, of a table.
        scale : PublicScale
            What users have done to their points.
        guarantee : LearnedGuarantee
            What was guaranteed.
        """
        self._know_columns(made.n_features_in_, names)
        # What a model file needs, whatever is set afterwards; a seed it does not.
        self._fitted_with = {**self.get_params(deep=False), "random_state": None}
        self.protocol_, self.scale_, self.guarantee_ = made, scale, guarantee
        self.classes_, self.empty_classes_ = made.classes_, made.empty_classes_
        self.reported_counts_ = made.reported_counts_
        public, _ = self._public(self.n_features_in_)
        self.bandwidth_ = public.bandwidth
        self.noise_ = self._noises(public, made.class_protocols())
        nearest = self.kernel == "inner-product" and self.rule != "density"
        self.squared_norms_ = squared_norms(made) if nearest else np.zeros(len(self.classes_))

    def _notes(self, sums: PartialSums) -> tuple[str, ...]:
        taken = () if self.classes is not None else (LABELS_TAKEN,)
        return (*taken, *super()._notes(sums))

    def _warn(self) -> None:
        """Warn of what is not private, and of classes that are too small."""
        unprotected = [
            what for what, bare in (("points", self._no_privacy), ("labels", self.label_epsilon == math.inf)) if bare
        ]
        if unprotected:
            warnings.warn(
                f"Nothing protects the users' {' and '.join(unprotected)}: "
                + " and ".join({"points": "epsilon", "labels": "label_epsilon"}[what] + "=inf" for what in unprotected)
                + " is for comparison only.",
                PrivacyWarning,
                stacklevel=4,
            )
        if len(self.empty_classes_):
            shown = ", ".join(map(str, self.empty_classes_[:5].tolist()))
            warnings.warn(f"Nobody reported {shown}: never predicted.", PrivacyWarning, stacklevel=4)
        worst = int(self.noise_.argmax())
        classes = len(self.classes_) + len(self.empty_classes_)
        share = LabelRandomizedResponse(classes, min(self.label_epsilon, 700.0)).contrast if classes > 1 else 1.0
        self._warn_of_noise(
            float(self.noise_[worst]),
            int(self.reported_counts_[worst]),
            f"Class {self.classes_[worst]}",
            share,
            stacklevel=5,
        )
