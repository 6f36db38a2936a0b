"""Points and labels as scikit-learn takes them, with what are none told in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

__all__ = ["validated"]

_NO_NUMBERS = ("could not convert", "inhomogeneous", "setting an array element")
"""What numpy's errors say of entries that are no numbers, and of rows that differ in length."""


def validated(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True) -> Any:
    """Return points, and labels if there are any, as arrays.

    - estimator: Whose columns they must have, or, with `reset`, who learns which there are.
    - X (array_like or table, shape (points, dimension)): The points.
    - y (array_like, shape (points,)): The labels; none when omitted.
    - reset: Whether the estimator learns the columns.

    Raises TypeError if there are no points, a column holds times, or X is sparse. Raises ValueError for another shape,
    or entries that are no real numbers.
    """
    if X is None or isinstance(X, (str, bytes)) or (isinstance(X, tuple) and any(map(_is_matrix, X))):
        shown = f"a tuple of {len(X)}" if isinstance(X, tuple) else f"{X!r:.60}"
        raise TypeError(f"X={shown} must be points, an array or a table of shape (points, dimension).")
    for column, kind in X.dtypes.items() if hasattr(X, "columns") and hasattr(X, "dtypes") else ():
        if getattr(kind, "kind", "") in ("m", "M"):
            raise TypeError(f"X has the column {column!r} of {kind}, but must have real numbers alone.")
    try:
        return validate_data(estimator, X, y, dtype=(np.float64, np.float32), ensure_all_finite=False, reset=reset)
    except ValueError as error:
        if not any(words in str(error) for words in _NO_NUMBERS):
            raise
        reason = str(error).split("\n")[0].rstrip(".")
        raise ValueError(f"X must have real numbers alone, in rows of one length: {reason}.") from None


def _is_matrix(part: Any) -> bool:
    return getattr(part, "ndim", 0) == 2
