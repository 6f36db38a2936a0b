"""The two randomized responses of RAPPOR, simulated (wang_lecture9, Figure 9.3; erlingsson2014, section 2).

A user's bits are flipped once, each with probability f/2, and kept for as long as her value is the same: the
*permanent* response. Every report sends each kept bit anew, as a one with probability q where it is one and p where it
is zero: the *instantaneous* response.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from protocols.classes.frozen import dataclass
from protocols.rappor.bloom import BloomFilter, check_texts
from protocols.validation import check_generator, check_indices

__all__ = ["PermanentResponse", "Rappor", "Reports"]


class Reports(NamedTuple):
    """What users send.

    Parameters
    ----------
    cohorts : ndarray of int64, shape (users,)
        The cohort of each user, public.
    bits : ndarray of bool, shape (users, reports, bits)
        Her reports on one value; of a `PermanentResponse`, shape (users, bits).

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = Rappor(bits=16, hashes=2, cohorts=4, f=0.5, p=0.25, q=0.75, reports=3)
    >>> sent = mechanism.randomize(["red", "blue"], np.random.default_rng(7))
    >>> sent.cohorts.shape, sent.bits.shape
    ((2,), (2, 3, 16))
    """

    cohorts: NDArray[np.int64]
    bits: NDArray[np.bool_]


@dataclass(frozen=True)
class PermanentResponse(BloomFilter):
    """Each user publishes her Bloom filter with every bit flipped with probability f/2.

    What any number of RAPPOR's reports on one value reveal is a function of this and of chance, and reaches it in the
    limit.

    Parameters
    ----------
    bits, hashes, cohorts : int
        See `BloomFilter`.
    f : float
        In (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> mechanism = PermanentResponse(bits=16, hashes=2, cohorts=4, f=0.5)
    >>> mechanism.randomize(["red", "blue"], np.random.default_rng(7)).bits.shape
    (2, 16)
    """

    f: float = field(
        metadata={"within": "(0, 1)", "help": "f in {}: a bit is flipped for good w.p. f/2."}, kw_only=True
    )

    @functools.cached_property
    def filter(self) -> BloomFilter:
        """The Bloom filter alone."""
        return BloomFilter(self.bits, self.hashes, self.cohorts)

    @property
    def report_probabilities(self) -> tuple[float, float]:
        """The probabilities p* and q* that a bit of the Bloom filter that is 0, and one that is 1, is reported as 1."""
        return 0.5 * self.f, 1.0 - 0.5 * self.f

    def signal(
        self, values: Sequence[str], rng: np.random.Generator, *, cohorts: ArrayLike | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return each user's cohort, uniformly random when not given, and her Bloom filter, shape (users, bits)."""
        check_generator("rng", rng)
        texts = np.array(check_texts("values", values), dtype=np.object_)
        if cohorts is None:
            chosen = rng.integers(0, self.cohorts, texts.size)
        else:
            chosen = check_indices("cohorts", cohorts, self.cohorts, users=texts.size)
        distinct, which = np.unique(texts, return_inverse=True)
        positions = self.filter.positions(list(distinct))[which, chosen]
        filled = np.zeros((texts.size, self.bits), dtype=np.bool_)
        np.put_along_axis(filled, positions, True, axis=1)
        return chosen, filled

    def randomize(
        self, values: Sequence[str], rng: np.random.Generator, *, cohorts: ArrayLike | None = None
    ) -> Reports:
        """Return every user's report on her string, in cohorts that are uniformly random when omitted.

        A simulation: what runs on a user's device is `RapporClient`. TypeError if a value is no string, ValueError if
        it is no text, or a cohort is out of range.
        """
        chosen, filled = self.signal(values, rng, cohorts=cohorts)
        return Reports(chosen, self.permanent(filled, rng))

    def permanent(self, signal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return a permanent response to each Bloom filter, of the same shape."""
        return signal ^ (rng.random(signal.shape) < 0.5 * self.f)


@dataclass(frozen=True)
class Rappor(PermanentResponse):
    """Each user sends some reports on one value, from one permanent response that is remembered.

    Users who forget, and flip their bits anew for every report, are so many instances of `reports=1`. So are users
    whose value is another one each time, as each value has a permanent response of its own; what that does not cover is
    that a change is seen (docs/rappor.md).

    Parameters
    ----------
    bits, hashes, cohorts, f
        See `PermanentResponse`.
    p, q : float
        The probabilities that a kept bit of 0, and of 1, is reported as 1: 0 < p < q < 1. (With q < p the report is
        that of 1-p and 1-q with all bits negated.)
    reports : int
        How many reports a user sends on her value, at least 1.

    Raises
    ------
    TypeError, ValueError
        For a parameter out of its range.
    """

    p: float = field(metadata={"within": "(0, 1)", "help": "p in {}: a kept 0 is reported as 1 w.p. p."}, kw_only=True)
    q: float = field(
        metadata={"within": "(0, 1)", "help": "q in {}, above p: a kept 1 is reported as 1 w.p. q."}, kw_only=True
    )
    reports: int = field(
        default=1,
        metadata={"within": "[1, inf)", "help": "Reports on one value, whose flipped bits are remembered, in {}."},
        kw_only=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.p < self.q:
            raise ValueError(f"q={self.q!r} must be above p={self.p!r}: else negate the bits, or nothing is reported.")

    @property
    def report_probabilities(self) -> tuple[float, float]:
        """The same of one report: a kept 1 is sent as 1 with probability q, a kept 0 with probability p."""
        flipped, kept = super().report_probabilities
        return flipped * self.q + kept * self.p, kept * self.q + flipped * self.p

    def randomize(  # noqa: D102
        self, values: Sequence[str], rng: np.random.Generator, *, cohorts: ArrayLike | None = None
    ) -> Reports:
        chosen, filled = self.signal(values, rng, cohorts=cohorts)
        return Reports(chosen, self.instantaneous(self.permanent(filled, rng), rng))

    def instantaneous(self, permanent: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return the reports that are sent from each permanent response, shape (users, reports, bits)."""
        shape = (len(permanent), self.reports, self.bits)
        return np.asarray(rng.random(shape) < np.where(permanent, self.q, self.p)[:, np.newaxis])
