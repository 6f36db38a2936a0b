"""Audits of mechanisms against the law that their twin states: reports, a curator's outputs, estimates of a mean.

Each function takes what is claimed to run, and what does run: a target, `function(inputs, rng)` on an input of the
subject's datasets, or where it is omitted the reference itself. A TypeError says that the twin knows no such law.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject
from dpverify.audit.subjects.bitsum import Implementation
from dpverify.claims.central import CentralClaims
from dpverify.claims.local.base import LocalClaims
from dpverify.claims.means import MeanClaims
from dpverify.claims.registry import mechanism_claims_of
from dpverify.claims.sums.base import SumClaims
from dpverify.laws.discrete import DiscreteLaw
from protocols.shuffler import shuffle
from protocols.sums.base import SumProtocol
from protocols.validation import check_integer

__all__ = ["central_subject", "local_subject", "mean_subject", "sum_subject"]

_MOST_INPUTS = 5
_TOGETHER = 3
"""How many users report in a run of a mechanism of ours: all pairs of them are looked at."""
_USERS = 6
"""How many users there are where the protocol does not say."""

_WATCHED_USERS = 200
"""Up to so many users a sum of ours runs message by message, beyond that by the sampler of what is read."""

Cases = Sequence[tuple[str, NDArray[Any], DiscreteLaw]]


def local_subject(reference: Any, *, implementation: Any = None, users: int | None = None) -> Subject:
    """Return a local mechanism as a subject: the first user's report on up to five inputs, and others' beside it.

    - reference: What is claimed to run.
    - implementation: What does run: a mechanism with `randomize`, such as a subclass, or `function(inputs, rng)`, which
      returns a report for each of the users' inputs, of one user the report itself. `reference` itself when omitted.
    - users: How many users report in a run: whether their reports are independent shows from two on. One where a
      function is given, whose inputs have shape (1,), and three else.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, LocalClaims):
        raise _refused(reference, "a local mechanism, whose reports have a law each")
    mechanism = reference if implementation is None else implementation
    whole = getattr(mechanism, "__self__", None)
    if hasattr(whole, "randomize"):
        if mechanism.__name__ != "randomize":
            raise TypeError(
                f"implementation={mechanism!r} must return users' reports, as `randomize` of the same mechanism does."
            )
        mechanism = whole
    own = hasattr(mechanism, "randomize")
    users = check_integer("users", (_TOGETHER if own else 1) if users is None else users, low=1)
    values = claims.inputs(reference)[:_MOST_INPUTS]
    target: Runnable = mechanism
    if own:
        target = Target(functools.partial(_reports, mechanism), True, (users,), repr(mechanism))
    target = target_of(target, (users,) if users > 1 else ())
    read = functools.partial(_read_reports, functools.partial(claims.readable, reference), users)
    laws = [claims.report_law(reference, value) for value in values]
    datasets = []
    for value, law in zip(values, laws, strict=True):
        # Neighbours differ in the first user alone.
        inputs, each = np.array([value, *[values[0]] * (users - 1)]), [law, *[laws[0]] * (users - 1)]
        columns = {0: ("report", law)}
        equal = _equal(law, laws[0], users - 1)
        if users > 1:
            columns[users] = ("number of reports that equal the first user's", equal)
        datasets.append(
            Dataset(f"input {value!r}", inputs, columns, independent=(slice(0, users), each) if users > 1 else None)
        )
    return Subject(
        target.name or "target",
        ReadTarget.of(target, read, int(users > 1)),
        datasets,
        [Neighbours(0, 1, (0,))],
        silent_on=() if users > 1 else ("whether the reports of several users are independent",),
        reference=reference,
    )


def _read_reports(
    readable: Callable[[NDArray[Any]], NDArray[Any]], users: int, outputs: NDArray[Any]
) -> NDArray[np.float64]:
    if users == 1:
        return np.asarray(readable(outputs), dtype=np.float64)
    read = np.asarray(readable(outputs.ravel()), dtype=np.float64).reshape(outputs.shape)
    return np.column_stack([read, np.count_nonzero(read[:, 1:] == read[:, :1], axis=1)])


def _equal(first: DiscreteLaw, others: DiscreteLaw, count: int) -> DiscreteLaw:
    """Return the law of how many of the other users' reports equal the first one's."""
    alike = others.probabilities(first.points)
    numbers = np.arange(count + 1)
    masses = first.pmf @ scipy.stats.binom.pmf(numbers, count, np.minimum(alike, 1.0)[:, np.newaxis])
    return DiscreteLaw.of(numbers, masses, min(1.0, first.outside + count * others.outside))


def central_subject(reference: Any, *, implementation: Any = None) -> Subject:
    """Return a curator's mechanism as a subject: its output on the neighbours that its twin names."""
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, CentralClaims):
        raise _refused(reference, "a curator's mechanism, whose output has a law")
    cases = [
        (f"{side} of pair {pair}", inputs, claims.output_law(reference, inputs))
        for pair, both in enumerate(claims.neighbours(reference), 1)
        for side, inputs in zip(("first", "second"), both, strict=True)
    ]
    pairs = [Neighbours(at, at + 1) for at in range(0, len(cases), 2)]
    return _subject(reference, "output", cases, pairs, _running(implementation, reference))


def mean_subject(reference: Any, *, implementation: Any = None) -> Subject:
    """Return an estimator of a mean as a subject: nobody, one user, and half of them hold the largest value."""
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, MeanClaims):
        raise _refused(reference, "an estimator of a mean, with an exact law of the estimate")
    users, most = claims.users(reference) or _USERS, claims.most(reference)
    cases = []
    for holders, shown in ((0, "all users at 0"), (1, "one user at the most"), (users // 2, "half at the most")):
        values = np.where(np.arange(users) < holders, most, 0.0)
        cases.append((shown, values, claims.estimate_law(reference, values)))
    read = functools.partial(claims.readable_estimate, reference)
    return _subject(reference, "estimate", cases, [Neighbours(0, 1)], _running(implementation, reference), read)


def sum_subject(reference: Any, *, implementation: Any = None) -> Subject:
    """Return a sum of integers as a subject: nobody, one user, and half of them hold the largest; messages besides.

    - reference: What is claimed to run.
    - implementation: What does run: a protocol of sums, such as a subclass, or `function(values, rng)`, which returns
      the estimate. `reference` itself when omitted.
    """
    claims = mechanism_claims_of(reference)
    if not isinstance(claims, SumClaims):
        raise _refused(reference, "a protocol for sums of integers")
    users, most = reference.users, reference.levels
    halves = np.where(np.arange(users) < users - users // 2, 0, most)
    single, mixed = np.where(np.arange(users) < 1, most, 0), np.arange(users) * 7 % (most + 1)
    inputs = {"all users at 0": np.zeros(users, dtype=np.int64), "one user at the largest": single}
    cases = [
        (name, _held(reference, values), claims.estimate_law(reference, int(values.sum()), users))
        for name, values in (inputs | {"half at the largest": halves, "mixed": mixed}).items()
    ]
    if reference.steps is not None:
        middle = claims.estimate_law(reference, 0, users, midway=users)
        cases.append(("in the middle of a step", _held(reference, np.full(users, 0.5)), middle))
    given, messages = reference if implementation is None else implementation, None
    if hasattr(given, "randomize"):
        aggregated = Target(functools.partial(_summed, given), True, name=repr(given))
        seen = Implementation.watching(given, aggregated, shuffle)
        assert seen.sent is not None
        assert seen.arrived is not None
        symbol, piece, fewest, largest = claims.watched(reference)
        zeros = np.zeros(users, dtype=np.int64)
        halves, zeros = _held(reference, halves), _held(reference, zeros)
        messages = Messages(seen.sent, seen.arrived, halves, zeros, symbol, piece, fewest, largest)
        given = given if users <= _WATCHED_USERS else aggregated
    found = _subject(reference, "estimate", cases, [Neighbours(0, 1)], _running(given, reference))
    return replace(found, messages=messages)


def _held(protocol: SumProtocol, steps: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers that are so many steps above the smallest."""
    if protocol.steps is None:
        return steps + int(protocol.smallest)
    return np.minimum(protocol.smallest + steps * float(protocol.step), protocol.largest)


def _summed(protocol: Any, values: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    steps = (values - protocol.smallest) / float(protocol.step)
    whole = np.rint(steps)
    midway = np.abs(steps - whole) > 0.25
    totals = int(whole[~midway].sum() + np.floor(steps[midway]).sum()) + rng.binomial(int(midway.sum()), 0.5, trials)
    return np.asarray(protocol.analyze(protocol.sample_view(totals, rng, participants=values.size)))


def _running(implementation: Any, reference: Any) -> Runnable:
    """Return what runs: a target or function as it is, of anything else its `run`."""
    given = reference if implementation is None else implementation
    runnable: Runnable = given
    if isinstance(given, (Target, str)) or (callable(given) and given is not reference):
        return runnable
    if not hasattr(given, "run"):
        raise TypeError(
            f"implementation={given!r} must be a callable, 'module:callable', 'path/to/file.py:callable', or something "
            "with a method `run(inputs, rng)`."
        )
    return Target(functools.partial(_run, given), name=repr(given))


def _refused(reference: Any, wanted: str) -> TypeError:
    return TypeError(f"reference={reference!r} must be {wanted}.")


def _subject(
    reference: Any,
    column: str,
    cases: Cases,
    neighbours: Sequence[Neighbours],
    implementation: Runnable,
    read: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
) -> Subject:
    target = target_of(implementation)
    target = target if read is None else ReadTarget.of(target, read)
    datasets = [Dataset(name, inputs, {0: (column, law)}) for name, inputs, law in cases]
    return Subject(target.name or "target", target, datasets, neighbours, reference=reference)


def _reports(protocol: Any, inputs: NDArray[Any], rng: np.random.Generator, trials: int) -> NDArray[Any]:
    return np.asarray(protocol.randomize(np.tile(inputs, trials), rng)).reshape(trials, len(inputs))


def _run(protocol: Any, values: NDArray[Any], rng: np.random.Generator) -> float:
    return float(protocol.run(values, rng))
