"""What refuted outputs look like: the values of single parameters whose noise is as large as theirs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.subject import Dataset
from dpverify.claims.bitsum import claims_of
from dpverify.search import bisected, galloped

__all__ = ["likely_parameters"]

_CLOSE = 1e-6

_NORMAL = 1.959963984540054
"""The normal quantile at 0.975."""
_REACH = 40.0
"""How far from the stated value parameters are looked for, in nats of the odds, or of the value."""


def likely_parameters(
    reference: Any, datasets: Sequence[Dataset], outputs: Sequence[NDArray[np.float64]]
) -> Iterator[str]:
    """Yield for each parameter the value that would give estimates of this spread, all others being as stated.

    An estimate, from the standard deviation on the first dataset, with about its 95 % interval.

    - reference: What is claimed to run.
    - datasets: What it ran on.
    - outputs (sequence of ndarray, shape (trials, columns)): What it returned there, the estimate first.
    """
    estimates = outputs[0][:, 0]
    if 0 not in datasets[0].laws:
        return
    stated = math.sqrt(datasets[0].laws[0][1].variance)
    spread = float(estimates.std())
    shape = (float(scipy.stats.kurtosis(estimates, fisher=False)) - 1.0) / 4.0 if spread > 0 else 0.0
    error = _NORMAL * spread * math.sqrt(max(0.0, shape) / estimates.size)
    if abs(spread - stated) <= error:
        return
    yield (
        f"the estimates on {datasets[0].name} have standard deviation {spread:.4g} "
        f"(95 % interval [{spread - error:.4g}, {spread + error:.4g}]), where {stated:.4g} is claimed."
    )
    if abs(claims_of(reference).rmse(reference) - stated) > _CLOSE * stated:
        return  # the error over all inputs is another than the spread on this dataset
    for field in dataclasses.fields(reference):
        value = getattr(reference, field.name)
        if not isinstance(value, float) or not value > 0:
            continue
        ends = [_with_spread(reference, field.name, value, at) for at in (spread - error, spread + error)]
        middle = _with_spread(reference, field.name, value, spread)
        if middle is None or None in ends:
            continue
        low, high = sorted(end for end in ends if end is not None)
        found = f"{field.name} = {middle:.4g} ([{low:.4g}, {high:.4g}])"
        yield f"that is the spread of {found}, where {value:.4g} is stated."


def _with_spread(reference: Any, name: str, stated: float, wanted: float) -> float | None:
    """Return the value of a parameter next to the stated one that gives the estimate this standard deviation."""
    odds = stated < 1.0
    centre = float(scipy.special.logit(stated)) if odds else math.log(stated)

    def value(at: float) -> float:
        return float(scipy.special.expit(at)) if odds else math.exp(at)

    def excess(at: float) -> float:
        try:
            protocol = dataclasses.replace(reference, **{name: value(at)})
            return float(claims_of(protocol).rmse(protocol)) - wanted
        except (ValueError, ArithmeticError):
            return math.nan

    here = excess(centre)
    found = []
    for direction in (-1.0, 1.0):

        def crossed(step: float, towards: float = direction) -> bool:
            return excess(centre + towards * step) * here <= 0.0

        bracket = galloped(crossed, 0.0, 0.5, grow=lambda step: 4.0 * step, ceiling=_REACH)
        if bracket is not None:
            step = bisected(crossed, *bracket, relative=1e-4, absolute=1e-6)[1]
            found.append((step, value(centre + direction * step)))
    return min(found)[1] if found else None
