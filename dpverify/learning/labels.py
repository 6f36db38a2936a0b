"""The public set of labels, and each user's place in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["LABELS_TAKEN", "check_kinds", "check_same", "indexed"]

LABELS_TAKEN = "the set of labels was taken from y, and so is public"


def check_kinds(y: Any) -> None:
    """Refuse texts beside other labels or missing ones, which have no order.

    - y (array_like, shape (users,)): The users' labels.

    Raises ValueError if one is a text and another is not.
    """
    array = np.asarray(y) if hasattr(y, "dtype") else None
    if array is None or array.dtype != object or array.ndim != 1:
        return
    texts = [isinstance(label, str) for label in array]
    if any(texts) and not all(texts):
        user = texts.index(False)
        raise ValueError(f"y[{user}]={array[user]!r} must be a text, as other labels are.")


def check_same(counted: NDArray[Any], classes: ArrayLike | None) -> None:
    """Refuse sums that were counted with other public labels than an estimator has.

    Raises ValueError if they differ.
    """
    if classes is not None and not np.array_equal(counted, np.unique(np.asarray(classes))):
        raise ValueError(f"sums have classes={counted.tolist()}, but must have those of the estimator, {classes!r}.")


def indexed(y: NDArray[Any], classes: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the public labels, sorted, and each user's index among them.

    - y (ndarray, shape (users,)): The users' labels.
    - classes (array_like, shape (n_classes,)): The public set; by default the labels that occur in y.

    Raises ValueError if `classes` is empty or no list, or a label is not in it.
    """
    if classes is None:
        found, indices = np.unique(y, return_inverse=True)
        return found, indices.astype(np.int64)
    known = np.asarray(classes)
    if known.ndim == 1 and known.dtype == object and len({isinstance(label, str) for label in known}) > 1:
        raise ValueError(f"classes={classes!r} must all be texts, or all numbers.")
    if known.ndim == 1 and any(label is None or label != label for label in known):
        raise ValueError(f"classes={classes!r} must have no missing label.")
    if known.ndim != 1 or not known.size:
        raise ValueError(f"classes={classes!r} must be a list of at least 1 label.")
    known = np.unique(known)
    indices = np.minimum(np.searchsorted(known, y), len(known) - 1)
    same = known[indices] == y
    if not np.all(same):
        user = int(np.argmin(same))
        raise ValueError(f"y[{user}]={np.asarray(y[user]).item()!r} must be one of classes={known.tolist()}.")
    return known, indices.astype(np.int64)
