"""Learn from a file, and test on what no user has taken part with: rows that are held out, or another file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpverify.guarantee import Interval
from dpverify.learning.files.data import DataFile
from dpverify.learning.files.model import Model
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from dpverify.learning.labels import LABELS_TAKEN
from dpverify.shown import Drawn
from dpverify.statistics.bounds.intervals import clopper_pearson
from protocols.classes.frozen import dataclass
from protocols.validation import check_real

__all__ = ["Learned", "LearnedJointly", "Progress", "learn", "right_among"]

Progress = Callable[[int, int], object]
"""Called with the rows that are done, and all rows."""
_CONFIDENCE = 0.95
_PUBLIC_SPLIT = 20_260
"""Of the public choice of the rows that are held out."""


@dataclass(frozen=True, eq=False)
class Learned(Drawn):
    """A classifier that has learned from a file.

    - classifier: Fitted.
    - users: How many rows took part.
    - tested, right: How many rows it was tested on, and how many of them it told right. **Not private**: they are of
      the test rows.
    """

    table_by: ClassVar[str] = "dpverify.report.learning:learned_table"
    figure_by: ClassVar[str] = "dpverify.report.learning:learned_noise"
    rows_by: ClassVar[str] = "classes"
    plain_as: ClassVar[str] = (
        "users dimension=classifier.n_features_in_ kernel=classifier.kernel "
        "bandwidth=classifier.bandwidth_ bits=classifier.protocol_.features_.coordinates "
        "bitsum=classifier.bitsum guarantee=classifier.guarantee_ classes=_classes "
        "empty_classes=classifier.empty_classes_ tested accuracy accuracy_interval"
    )
    of_classes: ClassVar[dict[str, str]] = {
        "label": "classes_",
        "reported_users": "reported_counts_",
        "noise": "noise_",
    }
    """What a class has in `classes`, and where the classifier has it."""

    classifier: Model = field(repr=False)
    users: int
    tested: int = 0
    right: int = 0

    @property
    def accuracy(self) -> float | None:
        """The share that was told right; None without a test."""
        return self.right / self.tested if self.tested else None

    @property
    def accuracy_interval(self) -> Interval | None:
        """The accuracy on further rows of the same law, with confidence .95; None without a test."""
        if not self.tested:
            return None
        lower, upper = clopper_pearson(self.right, self.tested, 1.0 - _CONFIDENCE)
        return Interval(float(lower), float(upper))

    @property
    def _classes(self) -> list[dict[str, Any]]:
        columns = [attrgetter(name)(self.classifier).tolist() for name in self.of_classes.values()]
        return [dict(zip(self.of_classes, row, strict=True)) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class LearnedJointly(Learned):
    """A discriminant that has learned from a file: labels and points under one budget."""

    table_by: ClassVar[str] = "dpverify.report.learning:joint_table"
    figure_by: ClassVar[str] = "dpverify.report.learning:joint_shares"
    plain_as: ClassVar[str] = (
        "users dimension=classifier.n_features_in_ second_moment=classifier.map_.second "
        "noise=classifier.noise_ messages_per_user=classifier.plan_.messages_per_user "
        "bytes_per_user=classifier.plan_.bytes_per_user guarantee=classifier.guarantee_ classes=_classes "
        "tested accuracy accuracy_interval"
    )
    of_classes: ClassVar[dict[str, str]] = {"label": "classes_", "share": "moments_.shares", "predicted": "predicted_"}


def learn(
    classifier: Model,
    data: DataFile,
    *,
    holdout: float = 0.0,
    test: DataFile | None = None,
    progress: Progress | None = None,
    planning: Progress | None = None,
) -> Learned:
    """Fit a classifier to the rows of a file, one user each, and test it.

    - classifier: Where its `classes` are None, those of the file become public, its `classes`, and a note of
      `guarantee_`.
    - data: With labels.
    - holdout: The share of its rows, in [0, 1), that take no part, and are for the test: a public choice at random.
    - test: For the test, with labels.
    - progress: Called after every group of rows.
    - planning: `planning(done, plans)`: called before the plans for the classes' sizes are made, and after every one;
      of a discriminant there is one, made before any row is counted.

    Returns: For a discriminant `LearnedJointly`.

    Raises ValueError as for the classifier's `fit_chunks`; if points of the files have other dimensions; or if nobody
    is left.
    """
    share = check_real("holdout", holdout, low=0.0, high=1.0, high_open=True)
    tell = progress or (lambda done, rows: None)
    tested_rows = test.rows if test is not None else data.rows if share else 0
    rows = data.rows + tested_rows
    if not data.rows:
        raise ValueError(f"{data.path} has no rows, but must have at least 1.")
    if share and test is not None:
        raise ValueError(f"holdout={share!r} must be 0 where there is a file to test on.")
    if test is not None:
        test.check_alike(f"those of {data.path}", data.dimension, data.names)
    taken = classifier.classes is None
    if taken:
        classifier.classes = data.label_set().tolist()
    kept, told = _split(data, share, False, lambda done: tell(done, rows)), planning or (lambda done, plans: None)
    if isinstance(classifier, PrivateDiscriminant):
        users = sum(len(labels) for _, labels in _split(data, share, False)) if share else data.rows
        told(0, 1)
        classifier.planned(data.dimension, users)
        told(1, 1)
        classifier.fit_chunks(kept, users=users)
    else:
        sums = classifier.chunk_sums(kept)
        classifier.plan_for(sums, told)
        classifier.fit_sums(sums)
        users = sums.users
    if taken:
        promised = classifier.guarantee_
        classifier.guarantee_ = replace(promised, notes=(LABELS_TAKEN, *promised.notes))
    file, held_out = (data, True) if test is None else (test, False)
    left = _split(file, share, held_out, lambda done: tell(data.rows + done, rows)) if tested_rows else iter(())
    made = LearnedJointly if isinstance(classifier, PrivateDiscriminant) else Learned
    return made(classifier, users, *_tested(classifier, left))


def _tested(classifier: Model, rows: Iterator[tuple[Any, Any]]) -> tuple[int, int]:
    """Return how many points there are, and for how many the prediction is their label."""
    count = right = 0
    for points, labels in rows:
        count += len(labels)
        right += right_among(classifier.predict(points), labels)
    return count, right


def right_among(predicted: NDArray[Any], labels: NDArray[Any]) -> int:
    """Return how many predictions are the label.

    Raises ValueError if ones are texts and the others numbers, of which none would be equal.
    """
    kinds = [array.dtype.kind in "US" for array in (predicted, labels)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"labels such as {labels[0].item()!r} must be as those that were learned, such as {predicted[0].item()!r}."
        )
    return int(np.count_nonzero(predicted == labels))


def _split(
    data: DataFile, share: float, held_out: bool, done: Callable[[int], object] = lambda done: None
) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of a file that are held out, or the others, of which there must be some."""
    seen, found = 0, held_out
    for number, (points, labels) in enumerate(data.chunks()):
        assert labels is not None
        chosen = np.random.default_rng([_PUBLIC_SPLIT, number]).random(len(points)) < share
        rows = chosen if held_out else ~chosen
        if rows.any():
            found = True
            yield points[rows], labels[rows]
        seen += len(points)
        done(seen)
    if not found:
        raise ValueError(f"holdout={share!r} leaves none of the {seen:,} rows of {data.path} to learn from.")
