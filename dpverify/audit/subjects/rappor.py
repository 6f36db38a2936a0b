"""Audits of RAPPOR: the averaging attack on one user's reports, and the exact laws of what it sees.

Of each bit that only one of two values sets, the attacker adds up all reports and decides whether the kept bit was 1.
Given memory, that tells no more than the kept bits; of a client who forgets, and flips anew for every report, it tells
the value.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.laws.discrete import DiscreteLaw
from protocols.classes.frozen import dataclass
from protocols.rappor.response import PermanentResponse, Rappor

__all__ = ["alike_law", "count_law", "rappor_subject"]

_TRIED = 64
"""Strings among which two are looked for whose patterns differ in as many bits as any can."""
_ALIKE = ("bits alike in the first two reports", "bits alike in every report and the next, taken two by two")
_NAMES = ("ones of the first value's bits", "ones of the second value's bits", "ones elsewhere in the first report")


@dataclass(frozen=True)
class _Watch:
    """What the attacker looks at: two values, the bits that only either sets in cohort 0, and when she decides for 1.

    - protocol: Or a `Rappor`.
    - own: The bits that only the first sets, and only the second.
    - common: Those that both set.
    - threshold: A bit with more ones than this was kept as 1, in all likelihood.
    """

    protocol: PermanentResponse
    values: tuple[str, str]
    own: tuple[tuple[int, ...], tuple[int, ...]]
    common: frozenset[int]
    threshold: float

    @classmethod
    def of(cls, protocol: PermanentResponse) -> _Watch:
        names = [f"value {index}" for index in range(_TRIED)]
        patterns = [set(places.tolist()) for places in protocol.filter.positions(names)[:, 0]]
        pairs = list(itertools.permutations(range(_TRIED), 2))
        chosen = max(pairs, key=lambda pair: len(patterns[pair[0]] ^ patterns[pair[1]]))
        sets = [patterns[index] for index in chosen]
        threshold = 0.5
        if isinstance(protocol, Rappor):
            up, down = np.log(protocol.q / protocol.p), np.log((1.0 - protocol.p) / (1.0 - protocol.q))
            threshold = protocol.reports * float(down / (up + down))
        own = (tuple(sorted(sets[0] - sets[1])), tuple(sorted(sets[1] - sets[0])))
        return cls(protocol, (names[chosen[0]], names[chosen[1]]), own, frozenset(sets[0] & sets[1]), threshold)

    @property
    def elsewhere(self) -> list[int]:
        """The bits that say nothing about which of the two it is."""
        return sorted(set(range(self.protocol.bits)) - {*self.own[0], *self.own[1]})

    @property
    def reports(self) -> int:
        """How many reports there are."""
        return self.protocol.reports if isinstance(self.protocol, Rappor) else 1

    def columns(self, bits: NDArray[Any]) -> NDArray[np.int64]:
        """Return what is seen of some users' reports, shape (users, reports, bits): one row of numbers each.

        Five that the attacker looks at, how many reports have each bit, and of several reports how many bits two next
        to each other have in common: the first two, and all pairs that share no report.
        """
        ones = [bits[:, :, list(places)].sum(axis=1) for places in self.own]
        seen = [counts.sum(axis=1) for counts in ones]
        seen.append(bits[:, 0, self.elsewhere].sum(axis=1))
        decided = [(counts > self.threshold).sum(axis=1) for counts in ones]
        pairs = self.reports // 2
        alike = (bits[:, 0 : 2 * pairs : 2] == bits[:, 1 : 2 * pairs : 2]).sum(axis=2)
        both = [alike[:, 0], alike.sum(axis=1)] if pairs else []
        return np.column_stack([*seen, *decided, bits.sum(axis=1), *both]).astype(np.int64)

    @property
    def width(self) -> int:
        """How many numbers a row has."""
        return 5 + self.protocol.bits + (len(_ALIKE) if self.reports > 1 else 0)

    def dataset(self, which: int) -> Dataset:
        """Return a user with the first or the second value."""
        counts = [count_law(self.protocol, held=held) for held in (False, True)]
        laws = [
            functools.reduce(np.convolve, [counts[side == which]] * len(self.own[side]), np.ones(1)) for side in (0, 1)
        ]
        one = self.protocol.report_probabilities
        set_bits, clear = len(self.common), len(self.elsewhere) - len(self.common)
        laws.append(np.convolve(_binomial(set_bits, one[1]), _binomial(clear, one[0])))
        above = int(np.floor(self.threshold)) + 1
        held = self.common | set(self.own[which])
        alike = [alike_law(self.protocol, len(held), pairs) for pairs in (1, self.reports // 2) if self.reports > 1]
        columns = [*enumerate(zip(_NAMES, laws, strict=True))]
        columns += enumerate(zip(_ALIKE, alike, strict=False), start=5 + self.protocol.bits)
        decided = [_binomial(len(self.own[side]), float(counts[side == which][above:].sum())) for side in (0, 1)]
        each = [DiscreteLaw.of(np.arange(law.size), law) for law in counts]
        rows = np.argwhere(np.ones((decided[0].size, decided[1].size), dtype=np.bool_))
        return Dataset(
            f"{self.values[which]!r}",
            np.array([self.values[which]]),
            {column: (name, DiscreteLaw.of(np.arange(law.size), law)) for column, (name, law) in columns},
            (slice(3, 5), DiscreteLaw.of(rows, np.multiply.outer(*decided).ravel())),
            (slice(5, 5 + self.protocol.bits), [each[bit in held] for bit in range(self.protocol.bits)]),
        )


def _binomial(trials: int, chance: float) -> NDArray[np.float64]:
    return np.asarray(scipy.stats.binom.pmf(np.arange(trials + 1), trials, min(chance, 1.0)))


def count_law(protocol: PermanentResponse, *, held: bool) -> NDArray[np.float64]:
    """Return the law of how many of the reports send a bit as 1, given the bit."""
    kept = 1.0 - 0.5 * protocol.f if held else 0.5 * protocol.f
    if not isinstance(protocol, Rappor):
        return np.array([1.0 - kept, kept])
    return kept * _binomial(protocol.reports, protocol.q) + (1.0 - kept) * _binomial(protocol.reports, protocol.p)


def alike_law(protocol: PermanentResponse, held: int, pairs: int) -> NDArray[np.float64]:
    """Return the law of how many bits are alike in some pairs of reports that have no report in common.

    Given the kept bit, reports are independent: a bit is alike in each pair with probability `q^2 + (1 - q)^2` or
    `p^2 + (1 - p)^2`. The bits are independent.

    - held: How many bits the value sets.
    - pairs: In how many pairs bits are compared, at most half as many as there are reports.

    Returns: The probability of each number of bits, over all pairs. (ndarray, shape (1 + pairs * bits,).)
    """
    one, zero = (protocol.q, protocol.p) if isinstance(protocol, Rappor) else (1.0, 0.0)
    alike = [_binomial(pairs, chance**2 + (1.0 - chance) ** 2) for chance in (one, zero)]
    kept = 1.0 - 0.5 * protocol.f
    set_bit, clear = kept * alike[0] + (1.0 - kept) * alike[1], (1.0 - kept) * alike[0] + kept * alike[1]
    return functools.reduce(np.convolve, [set_bit] * held + [clear] * (protocol.bits - held), np.ones(1))


def _own_reports(watch: _Watch, inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[np.int64]:
    values = [str(inputs[0])] * trials
    bits = watch.protocol.randomize(values, rng, cohorts=np.zeros(trials, dtype=np.int64)).bits
    return watch.columns(bits.reshape(trials, watch.reports, watch.protocol.bits))


def _foreign_reports(
    watch: _Watch, target: Target, inputs: NDArray[Any], rng: np.random.Generator, trials: int
) -> NDArray[np.int64]:
    function, value = target.load(), str(inputs[0])
    wanted = (watch.reports, watch.protocol.bits)
    users = function(value, rng, trials) if target.batch else [function(value, rng) for _ in range(trials)]
    for found in map(np.asarray, users):
        if found.shape != wanted:
            raise ValueError(f"returned the shape {found.shape}, but must return {wanted}: reports and bits.")
        if not ((found == 0) | (found == 1)).all():
            raise ValueError("returned other entries than zeros and ones.")
    return watch.columns(np.asarray(users).astype(np.int64))


def rappor_subject(reference: PermanentResponse, *, implementation: Runnable | None = None) -> Subject:
    """Return an implementation as a subject: one user of cohort 0 with either of two values.

    - reference: What is claimed to run.
    - implementation: What does run: `function(value, rng)` returns all reports of one user of cohort 0 on one value,
      who has just begun, shape (reports, bits), of zeros and ones. `reference` itself when omitted.
    """
    if not isinstance(reference, PermanentResponse):
        raise TypeError(f"reference={reference!r} must be a Rappor or a PermanentResponse.")
    watch = _Watch.of(reference)
    if implementation is None:
        name = repr(reference)
        target = Target(functools.partial(_own_reports, watch), True, (watch.width,), name)
    else:
        inner = target_of(implementation)
        name = inner.name or "target"
        target = Target(functools.partial(_foreign_reports, watch, inner), True, (watch.width,), inner.shown)
    datasets = [watch.dataset(which) for which in (0, 1)]
    return Subject(name, target, datasets, (Neighbours(0, 1), Neighbours(1, 0)), reference=reference)
