"""Audits of code without a twin, or with another analyzer, against laws that the caller writes down."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws.continuous import Cells, ContinuousLaw
from dpverify.laws.discrete import DiscreteLaw
from dpverify.search import bisected, galloped
from protocols.validation import check_integer

__all__ = ["common_cells", "law_subject"]

Law = DiscreteLaw | ContinuousLaw
Cases = Mapping[str, tuple[ArrayLike, Law]]

_FAR = 1e-6
"""What each end of the cells leaves of a law: less than an audit of a million runs resolves."""
_ACROSS = 256
_DIGITS = (
    "digits of the outputs finer than {width:.3g}, where floating-point noise may show its input: see audit_mechanism"
)


def law_subject(target: Runnable, cases: Cases) -> Subject:
    """Return code as a subject, with a law of the caller's own for each of a few inputs.

    - target: `function(inputs, rng)` returns the output of one run, a number; or with discrete laws on rows of
      integers, a row of as many.
    - cases: By name: an input, and the law of the output on it. Laws are all discrete, on numbers or on rows, or all
      have a density. Of the latter an audit reads which of some hundred common cells an output falls in.

    Raises TypeError if laws of both kinds are mixed. Raises ValueError if there is no case, or rows have other lengths.

    A counter whose noise is rounded, and the law that its author meant.

    >>> from dpverify.audit.protocol import audit_protocol
    >>> from dpverify.laws.discrete import DiscreteLaw
    >>> from dpverify.laws.noise import discrete_laplace
    >>> noise = DiscreteLaw.from_integer_law(discrete_laplace(1.0))
    >>> cases = {"none": (0, noise), "one": (1, noise.image(lambda points: points + 1))}
    >>> def counter(value, rng):
    ...     return value + np.round(rng.laplace(scale=1.0))
    >>> audit_protocol(law_subject(counter, cases), (1, 0), trials=2_000).verdict.value
    'violates'
    """
    check_integer("the number of cases", len(cases), low=1)
    own = target_of(target)
    laws = [law for _, law in cases.values()]
    silent: tuple[str, ...] = ()
    discrete = [law for law in laws if isinstance(law, DiscreteLaw)]
    if len(discrete) == len(laws):
        shapes = sorted({law.points.shape[1:] for law in discrete})
        if len(shapes) > 1:
            raise ValueError(f"cases has laws on outputs of the shapes {shapes}, but they must have the same one.")
        own = Target(own.function, own.batch, shapes[0], own.name)
    elif discrete:
        raise TypeError("cases mixes discrete laws and laws with a density, but all must be of one kind.")
    else:
        cells = common_cells([law for law in laws if not isinstance(law, DiscreteLaw)])
        own = ReadTarget.of(own, cells.number)
        silent = (_DIGITS.format(width=cells.width),)
        discrete = [cells.law(law) for law in laws if not isinstance(law, DiscreteLaw)]
    datasets = [
        _dataset(name, np.asarray(inputs), law)
        for (name, (inputs, _)), law in zip(cases.items(), discrete, strict=True)
    ]
    neighbours = [Neighbours(*pair) for pair in itertools.combinations(range(len(datasets)), 2)]
    return Subject(own.name or "target", own, datasets, neighbours, silent_on=silent)


def _dataset(name: str, inputs: NDArray[Any], law: DiscreteLaw) -> Dataset:
    if law.points.ndim == 1:
        return Dataset(name, inputs, {0: ("output", law)})
    columns = {
        at: (f"coordinate {at}", DiscreteLaw.of(law.points[:, at], law.pmf, law.outside))
        for at in range(law.points.shape[1])
    }
    return Dataset(name, inputs, columns, (slice(None), law))


def common_cells(laws: Sequence[ContinuousLaw]) -> Cells:
    """Return cells of one width that leave at most 1e-6 of each law beyond either end.

    - laws: At least one.
    """
    low, high = -max(_reach(law, below=True) for law in laws), max(_reach(law, below=False) for law in laws)
    return Cells((low + high) / 2.0, (high - low) / _ACROSS, _ACROSS // 2 + 1)


def _reach(law: ContinuousLaw, *, below: bool) -> float:
    """Return a point beyond which little remains, near the least such point; of the law's mirror image for `below`."""

    def holds(x: float) -> bool:
        return float(law.cdf(-x) if below else law.survival(x)) <= _FAR

    if not holds(0.0):
        found = galloped(holds, 0.0, 1.0)
    else:
        down = galloped(lambda x: not holds(-x), 0.0, 1.0)
        found = None if down is None else (-down[1], -down[0])
    if found is None:
        raise ValueError("cases has a law whose distribution function does not reach 0 and 1 at any float.")
    return bisected(holds, *found, steps=100)[1]
