"""What the tables of faults share: subjects, implementations that are wrong in one place, and entries about them."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from dpverify.audit.running.target import Target
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.audit.subjects.bitsum import Implementation, bitsum_subject
from dpverify.laws.discrete import DiscreteLaw
from protocols.bitsum import (
    BitsumProtocol,
    NegativeBinomial,
    Poisson,
    Pure,
    RandomizedResponse,
    ThreeNB,
)
from protocols.bitsum.base import messages_by_symbol
from protocols.local.labels import LabelRandomizedResponse
from protocols.local.means import LocalMean
from protocols.local.one_bit import OneBitMean
from protocols.local.randomized_response import RandomizedResponseMean
from protocols.shuffler import UserMessages
from tests.faults.fault import Array, Fault, Run

C, D, M = "conformance", "dependence", "message"


def subject_of(name: str, run: Run, datasets: Sequence[Dataset], pairs: Sequence[Neighbours] = ()) -> Subject:
    columns = 1 + max((column for dataset in datasets for column in dataset.laws), default=0)
    return Subject(name, Target(run, True, (columns,), name), datasets, pairs)


def fault(
    name: str,
    protocol: str,
    wrong: str,
    reason: str,
    caught_by: str,
    reference: BitsumProtocol,
    implementation: Callable[[], Implementation],
) -> Fault:
    return Fault(
        name,
        protocol,
        wrong,
        reason,
        caught_by,
        lambda: bitsum_subject(reference, implementation=implementation(), fewer_users=True),
    )


def faults_of(
    protocol: str, subject: Callable[[Run], Subject], *entries: tuple[str, str, str, Run], by: str = C
) -> tuple[Fault, ...]:
    """Return faults of the laws of outputs, or (`by=D`) of what columns and runs have in common."""
    return tuple(
        Fault(name, protocol, wrong, reason, by, functools.partial(subject, run))
        for name, wrong, reason, run in entries
    )


def local_faults(kind: str, subject: Callable[..., Subject], reference: Any, *entries: Any) -> tuple[Fault, ...]:
    """Return faults of reports of a mechanism: (name, wrong, reason, run), and the check and `detectable` where needed.

    What shows between reports, or between the cells that outputs are counted in, is said to be detectable.
    """

    def build(run: Any) -> Callable[[], Subject]:
        given = run if kind == "rappor" else Target(run, True, (), "target")
        return lambda: subject(reference, implementation=given)

    return tuple(
        Fault(name, kind, wrong, reason, *(how or (C,))[:1], build(run), *how[1:])
        for name, wrong, reason, run, *how in entries
    )


RR = RandomizedResponse(20, 0.25)
THREE_NB = ThreeNB(20, 0.6, 2.0, 0.5)


def implemented(protocol: BitsumProtocol, **options: Any) -> Callable[[], Implementation]:
    return lambda: Implementation.of(protocol, **options)


Counts = dict[int, Array]
NB = NegativeBinomial(20, 5.0, 0.3)
POISSON = Poisson(20, 12.0)
PURE = Pure(20, 0.6, 0.2, 2.0, 0.5)


def arguments(protocol: BitsumProtocol) -> dict[str, Any]:
    return {field.name: getattr(protocol, field.name) for field in fields(protocol)}


def messages_of(reference: BitsumProtocol, counts: Callable[[Array, np.random.Generator], Counts]) -> Any:
    """Return an implementation whose users send these counts, and whose analyzer is right."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _randomize(self, bits: Array, rng: np.random.Generator) -> UserMessages:
            return messages_by_symbol(counts(bits, rng))

        def __repr__(self) -> str:
            return f"faulty {reference!r}"

    faulty = Faulty(**arguments(reference))
    return lambda: Implementation.of(faulty)


def views_of(reference: BitsumProtocol, sample: Callable[[Array, int, np.random.Generator], Array]) -> Any:
    """Return an implementation whose views are drawn so, and whose analyzer is right."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _sample_view(self, ones: Array, participants: int, rng: np.random.Generator) -> Array:
            return sample(ones, participants, rng)

    faulty = Faulty(**arguments(reference))
    return lambda: Implementation.of(faulty, aggregated=True)


def analyzer_of(reference: BitsumProtocol, analyze: Callable[[Array], Array]) -> Any:
    """Return an implementation whose views are right, and whose analyzer is not."""

    class Faulty(type(reference)):  # type: ignore[misc]
        def _analyze(self, view: Array) -> Array:
            return np.asarray(analyze(view), dtype=np.float64)

    faulty = Faulty(**arguments(reference))
    return lambda: Implementation.of(faulty, aggregated=True)


def altered(reference: BitsumProtocol, **changes: float) -> Any:
    """Return an implementation whose users have other parameters than the analyzer."""
    other = replace(reference, **changes)
    return views_of(reference, lambda ones, participants, rng: other._sample_view(ones, participants, rng))


Views = Callable[[Array, np.random.Generator, int], Array]
"""(bits, rng, trials) -> the views of that many runs in a row, shape (trials, symbols)."""


def rows(protocol: BitsumProtocol, views: Views, late: int = 0) -> Any:
    """Return an implementation with these views, whose estimates are those of the view so many runs ago."""

    def run(bits: Array, rng: np.random.Generator, trials: int) -> Array:
        seen = views(bits, rng, trials)
        return np.column_stack([np.roll(protocol.analyze(seen), late), seen])

    return lambda: Implementation(Target(run, True, (1 + max(1, len(protocol.alphabet)),), "target"), True)


def right(protocol: BitsumProtocol) -> Views:
    return lambda bits, rng, trials: protocol.sample_view(np.full(trials, int(bits.sum())), rng, participants=bits.size)


def integers(pmf: Array, start: int = 0) -> DiscreteLaw:
    return DiscreteLaw.of(np.arange(start, start + pmf.size), pmf / pmf.sum())


def bernoulli_sum(probabilities: Array) -> DiscreteLaw:
    return integers(functools.reduce(np.convolve, [np.array([1.0 - p, p]) for p in probabilities.tolist()]))


LABELS_OF_4 = LabelRandomizedResponse(4, 1.0)


def label_subject(run: Run) -> Subject:
    users = np.array([0, 1, 3])
    reports = {i: (f"report of label {c}", integers(LABELS_OF_4.transition[c])) for i, c in enumerate(users.tolist())}
    zeros = bernoulli_sum(LABELS_OF_4.transition[users, 0])
    debiased = {int(k): float(LABELS_OF_4.debias([k, 3 - k, 0, 0])[0]) for k in zeros.points}
    estimate = zeros.image(lambda counts: np.array([debiased[int(count)] for count in counts]))
    return subject_of(
        "labels", run, [Dataset("three labels", users, {**reports, 3: ("estimated count of 0", estimate)})]
    )


def label_run(randomize: Callable[[Array, np.random.Generator], Array], debias: Any = None) -> Run:
    def run(inputs: Array, rng: np.random.Generator, trials: int) -> Array:
        reports = randomize(np.tile(inputs, trials), rng).reshape(trials, -1)
        counts = (reports == 0).sum(axis=1)
        estimates = [float((debias or LABELS_OF_4.debias)([k, 3 - k, 0, 0])[0]) for k in range(4)]
        return np.column_stack([reports, np.array(estimates)[counts]])

    return run


LEVELS_OF_4 = RandomizedResponseMean(1.0, 4)
ONE_BIT_OF_3 = OneBitMean(1.0, 3.0)


def of_reference(of: Callable[..., Subject], reference: Any, run: Run) -> Subject:
    return of(reference, implementation=Target(run, True, (), "target"))


def report(mechanism: LocalMean, value: Callable[[float], float] = float) -> Run:
    """Reports of this mechanism, on what becomes of the value."""
    return lambda x, rng, trials: mechanism.randomize(np.full(trials, value(x[0]), dtype=x.dtype), rng)
