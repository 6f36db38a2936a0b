"""Audits of classifiers with private labels, and of the words that a density's published numbers lead to.

A class is estimated among those who reported it: what is published of it has a law together with how many they are. For
words every outcome of all published numbers is listed, with the words that it leads to.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dpverify.audit.running.target import ReadTarget, Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject
from dpverify.audit.subjects.kde import density_inputs, places_of
from dpverify.audit.subjects.pipelines import one_chances, published_laws
from dpverify.laws.discrete import DiscreteLaw
from dpverify.laws.sums import Mixture, numbers_of_ones, summed
from protocols.classes.frozen import dataclass
from protocols.classifier import HighestDensityClassifier
from protocols.decoding import Score, top_words
from protocols.kde import KernelDensityProtocol
from protocols.local.labels import LabelRandomizedResponse
from protocols.streaming import count_bits
from protocols.validation import check_integer

__all__ = ["classifier_subject", "decoding_subject"]

_MOST_USERS = 40
"""Of the laws at each number who report a class, and each number of ones among them."""
_MOST_OUTCOMES = 2**18
_MOST_CLASSES, _MOST_FEATURES = 3, 3
"""Up to so many of the classes, and features of each, are looked at."""


def classifier_subject(reference: HighestDensityClassifier, *, implementation: Runnable | None = None) -> Subject:
    """Return a fitted classifier as a subject: what is published of a class together with how many reported it.

    All users hold one class and place, or different ones; the neighbour has one who moves and holds another class. A
    claim is tested on what is published of a feature in two classes, with the numbers who reported them.

    - reference: What is claimed to run, fitted: few users, for the laws at each number of them are listed.
    - implementation: What does run: `function(users, rng)` with a row for each user, her point and behind it the place
      of her class in the sorted public ones, returns one row: how many reported each class, and then for each class the
      numbers of `KernelDensity.published`, with **these** public features; 0 for a class that nobody reported.
      `reference` fitted anew when omitted.

    Raises ValueError for more than 40 users.
    """
    if not isinstance(reference, HighestDensityClassifier):
        raise TypeError(f"reference={reference!r} must be a HighestDensityClassifier.")
    check_is_fitted(reference)
    laws = _Laws.of(reference)
    width = laws.classes.size * (1 + reference.features_.coordinates)
    bitsum = reference.class_protocol(laws.users).bitsum
    name = f"classifier of {laws.classes.size} classes by {bitsum!r}, label_epsilon={reference.label_epsilon}"
    target = target_of(implementation or Target(functools.partial(_own, reference), False, (width,), name), (width,))
    datasets = [laws.dataset(reference, each, users) for each, users in _users(reference, laws).items()]
    silent = (
        "who reported which class, and the messages behind what is published, which are what the adversary sees",
        "classes and features other than the first three",
        "how published densities are evaluated and compared, which costs no privacy",
    )
    return Subject(
        target.name or "target",
        ReadTarget.of(target, laws.read, laws.width - width),
        datasets,
        [Neighbours(at, at + 1) for at in range(0, len(datasets) - 1, 2)],
        silent_on=silent,
        reference=reference,
    )


def _own(reference: HighestDensityClassifier, users: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    """Fit anew, with the public features; in its two halves where their seed is not known."""
    classes = np.sort(np.concatenate([reference.classes_, reference.empty_classes_]))
    points, labels = users[:, :-1], users[:, -1].astype(np.int64)
    model = clone(reference).set_params(classes=classes, empty_class="never", random_state=rng)
    if isinstance(reference.public_random_state, (int, np.integer)) and _drawn_alike(reference):
        model.fit(points, classes[labels])
    else:
        if reference.label_epsilon is not None:
            labels = LabelRandomizedResponse(classes.size, reference.label_epsilon).randomize(labels, rng)
        parts = (count_bits(reference.features_, points[labels == label], rng) for label in range(classes.size))
        model.publish(reference.features_, classes, parts, rng)
    row = np.zeros((classes.size, 1 + reference.features_.coordinates))
    at = np.searchsorted(classes, model.classes_)
    row[at, 0] = model.reported_counts_
    row[at, 1:] = [density.published.ravel() for density in model.densities_]
    return np.concatenate([row[:, 0], row[:, 1:].ravel()])


@functools.lru_cache(maxsize=4)
def _drawn_alike(reference: HighestDensityClassifier) -> bool:
    """Return whether fitting anew draws the same public features."""
    places = places_of(reference.features_.family)
    classes = np.concatenate([reference.classes_, reference.empty_classes_])
    model = clone(reference).set_params(classes=classes, empty_class="never", bitsum=None, random_state=0)
    drawn = model.fit(places, np.resize(classes, len(places))).features_
    return drawn.coordinates == reference.features_.coordinates and bool(
        (drawn.f(places) == reference.features_.f(places)).all()
    )


def _users(reference: HighestDensityClassifier, laws: _Laws) -> dict[str, NDArray[np.float64]]:
    """Return points with classes, of which every second dataset has one user who is elsewhere and in another class."""
    cases: dict[str, NDArray[np.float64]] = {}
    for name, points in density_inputs(reference.class_protocol(laws.users)).items():
        same = name.startswith("all") or name.startswith("one")
        held = np.zeros(laws.users) if same else np.arange(laws.users) % laws.classes.size
        if name.startswith("one"):
            held[-1] = (held[-1] + 1) % laws.classes.size
        elif name.endswith("moved"):
            held[0] = (held[0] + 1) % laws.classes.size
        cases[name] = np.column_stack([points, held])
    return cases


@dataclass(frozen=True, eq=False)
class _Laws:
    """The laws of what is published, each with how many reported the class.

    An outcome of both is numbered: the numbers of those with fewer reports come first. What is read is, for the first
    feature of the first two classes, and then for others, this number; and the product of two features of the first
    class, which shows what they share.
    """

    users: int
    classes: NDArray[Any]
    features: int
    reach: float
    mixtures: Sequence[Mixture]
    begins: NDArray[np.int64]
    columns: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, reference: HighestDensityClassifier) -> _Laws:
        users = check_integer("users", int(reference.reported_counts_.sum()), low=1, high=_MOST_USERS)
        classes = np.sort(np.concatenate([reference.classes_, reference.empty_classes_]))
        none = Mixture(np.zeros(1), np.ones((1, 1)), np.zeros(1))  # nothing is published of a class without users
        mixtures = [none, *(published_laws(reference.class_protocol(count)) for count in range(1, users + 1))]
        begins = np.cumsum([0, *(len(mixture.points) for mixture in mixtures)])
        features = min(reference.features_.coordinates, _MOST_FEATURES)
        columns = [(label, at) for at in range(features) for label in range(min(classes.size, _MOST_CLASSES))]
        family, every = reference.features_.family, reference.features_.coordinates
        return cls(users, classes, every, family.R, mixtures, begins, columns)

    @property
    def width(self) -> int:
        """How many columns are read: the reported numbers, what they are with a feature, and the product."""
        return self.classes.size + len(self.columns) + 1

    def read(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns that have laws."""
        features, classes = self.features, self.classes.size
        published = outputs[:, classes:].reshape(len(outputs), classes, features)
        numbers = [self._numbered(outputs[:, label], published[:, label, at]) for label, at in self.columns]
        second = published[:, 0, 1] if features > 1 else np.zeros(len(outputs))
        product = self._product(np.stack([published[:, 0, 0], second], axis=1))
        return np.column_stack([outputs[:, :classes], *numbers, product])

    def _numbered(self, reports: NDArray[np.float64], published: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.full(len(reports), -1.0)
        for count, mixture in enumerate(self.mixtures):
            rows = reports == count
            at = mixture.listed.index(published[rows])
            found[rows] = np.where(at >= 0, self.begins[count] + at, -1)
        return found

    def _product(self, published: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = published / self.reach
        return np.round((scaled[:, 0] - 0.5) * (scaled[:, 1] - 0.5), 9)

    def dataset(self, reference: HighestDensityClassifier, name: str, users: NDArray[np.float64]) -> Dataset:
        """Return a dataset with the laws of its columns."""
        epsilon, held = reference.label_epsilon, users[:, -1].astype(np.int64)
        transition = np.eye(self.classes.size)
        if epsilon is not None:
            transition = LabelRandomizedResponse(self.classes.size, epsilon).transition
        reports = numbers_of_ones(transition[held])
        columns = {
            label: (f"reports of class {label}", DiscreteLaw.of(np.arange(self.users + 1), law))
            for label, law in enumerate(reports)
        }
        chances = one_chances(reference.class_protocol(self.users), users[:, :-1])
        joint = functools.partial(self._joint, transition[held], chances)
        for place, (label, at) in enumerate(self.columns, self.classes.size):
            law = joint([(label, at)]).image(functools.partial(_column, 0))
            columns[place] = f"feature {at} of class {label} with its reports", law
        view = None
        with suppress(ValueError):  # too many outcomes: each is tested by itself
            if self.classes.size > 1:
                law = joint([(0, 0), (1, 0)])
                view = slice(self.classes.size, self.classes.size + 2), law
        with suppress(ValueError):
            if chances.shape[1] > 1:
                law = joint([(0, 0), (0, 1)]).image(self._values)
                columns[self.width - 1] = "features 0 and 1 of class 0, multiplied", law
        return Dataset(name, users, columns, view)

    def _values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        points = np.concatenate([mixture.points for mixture in self.mixtures])
        return self._product(points[numbers])

    def _joint(
        self, reported: NDArray[np.float64], chances: NDArray[np.float64], looked_at: Sequence[tuple[int, int]]
    ) -> DiscreteLaw:
        """Return the law of the numbers of one or two (class, feature), as rows."""
        labels = list(dict.fromkeys(label for label, _ in looked_at))
        parts = []
        for chance, bits in zip(reported, chances, strict=True):
            elsewhere = 0.0 if len(labels) == self.classes.size else max(0.0, 1.0 - float(chance[labels].sum()))
            rows: dict[tuple[int, ...], float] = {(0,) * (len(labels) + len(looked_at)): elsewhere}
            for place, label in enumerate(labels):
                mine = [at for own, at in looked_at if own == label]
                for ones in itertools.product((0, 1), repeat=len(mine)):
                    drawn = iter(ones)
                    row = [int(other == place) for other in range(len(labels))]
                    row += [next(drawn) if own == label else 0 for own, _ in looked_at]
                    share = np.prod([bits[at] if one else 1.0 - bits[at] for at, one in zip(mine, ones, strict=True)])
                    rows[tuple(row)] = float(chance[label] * share)
            parts.append((DiscreteLaw.from_mapping(rows), 1))
        counted = summed(parts)
        outcomes, masses, total = [], [], 0
        groups, which = np.unique(counted.points[:, : len(labels)], axis=0, return_inverse=True)
        for place, counts in enumerate(groups):
            among, points = counted.pmf[which.ravel() == place], counted.points[which.ravel() == place, len(labels) :]
            sizes = [int(counts[labels.index(label)]) for label, _ in looked_at]
            mass = np.zeros([size + 1 for size in sizes])
            mass[tuple(points.T)] = among
            for axis, size in enumerate(sizes):
                mass = np.moveaxis(np.tensordot(self.mixtures[size].table, mass, axes=(0, axis)), 0, axis)
            total += mass.size
            if total > _MOST_OUTCOMES:
                raise ValueError(f"users={self.users} make more than {_MOST_OUTCOMES} outcomes; audit fewer users.")
            numbers = np.moveaxis(np.indices(mass.shape), 0, -1).reshape(-1, len(sizes)) + self.begins[sizes]
            outcomes.append(numbers)
            masses.append(mass.ravel())
        left_out = max(float(mixture.outside.max()) for mixture in self.mixtures) * len(looked_at)
        return DiscreteLaw.of(np.concatenate(outcomes), np.concatenate(masses), min(1.0, left_out))


def decoding_subject(
    reference: KernelDensityProtocol,
    vocabulary: tuple[Sequence[str], NDArray[np.floating]] | None = None,
    k: int = 1,
    *,
    score: Score = "density",
    implementation: Runnable | None = None,
) -> Subject:
    """Return the words that a density ranks highest as a subject: every outcome of what is published is listed.

    - reference: The density that is decoded, with few users and features.
    - vocabulary: The public vocabulary; words at the places where users stand when omitted.
    - k: How many words, at least 1.
    - score ({"density", "distinctive"}): See `protocols.decoding.top_words`.
    - implementation: What does run: `function(points, rng)` returns the positions of the words in the vocabulary, from
      0, in the order of their ranks, shape (k,). Our own when omitted.

    Raises ValueError if there are more than 2^18 outcomes, or words tie in some that are not negligible.
    """
    if not isinstance(reference, KernelDensityProtocol):
        raise TypeError(f"reference={reference!r} must be a KernelDensityProtocol.")
    features = reference.features
    places = places_of(features.family)
    apart = np.array(list(dict.fromkeys(map(tuple, places.tolist()))))  # on a line there are but two
    words, vectors = vocabulary or ([f"place {at}" for at in range(len(apart))], apart)
    check_integer("k", k, low=1, high=len(words) - 1)
    published = published_laws(reference)
    outcomes = len(published.points) ** features.coordinates
    if outcomes > _MOST_OUTCOMES:
        raise ValueError(
            f"reference publishes one of {outcomes} outcomes, but must have at most {_MOST_OUTCOMES}; decode one with "
            "fewer users or features."
        )
    tables = np.meshgrid(*[published.points] * features.coordinates, indexing="ij")
    weights = np.stack([table.ravel() for table in tables], axis=1)
    directions = features.g(vectors).reshape(len(words), -1)
    if score == "distinctive":
        directions = directions - directions.mean(axis=0)
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.where(lengths > 0.0, lengths, 1.0)
    scores = weights @ directions.T
    ranked = np.argsort(-scores, axis=1, kind="stable")
    falling = np.take_along_axis(scores, ranked, axis=1)
    tied = (falling[:, :k] - falling[:, 1 : k + 1]).min(axis=1) <= _TIED * np.abs(scores).max()
    datasets = []
    for name, points in density_inputs(reference).items():
        laws = [published.law(ones) for ones in numbers_of_ones(one_chances(reference, points))]
        masses = functools.reduce(np.multiply.outer, [law.probabilities(published.points) for law in laws]).ravel()
        if float(masses[tied].sum()) > _NEGLIGIBLE:
            raise ValueError(
                f"vocabulary has words that tie with probability {float(masses[tied].sum()):.2g}, but their ranks must "
                "differ; leave out words with the same features, and take an odd number of users, who publish no 0."
            )
        outside = min(1.0, float(masses[tied].sum()) + sum(law.outside for law in laws))
        law = DiscreteLaw.of(ranked[~tied, :k], masses[~tied], outside)
        columns = {at: (f"word {at + 1}", law.image(functools.partial(_column, at))) for at in range(k)}
        datasets.append(Dataset(name, points, columns, (slice(0, k), law)))
    own = Target(
        functools.partial(_words, reference, (words, vectors), k, score), False, (k,), f"{k} words of {len(words)}"
    )
    target = target_of(implementation or own, (k,))
    return Subject(
        target.name or "target",
        target,
        datasets,
        [Neighbours(at, at + 1) for at in range(0, len(datasets) - 1, 2)],
        silent_on=("what is published of the density, from which the words follow, and the messages behind it",),
        reference=reference,
    )


_TIED = 1e-9
"""Scores that are closer, relative to the largest, tie: their order is that of rounding errors."""
_NEGLIGIBLE = 1e-12


def _column(at: int, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[:, at]


def _words(
    reference: KernelDensityProtocol,
    vocabulary: tuple[Sequence[str], NDArray[np.floating]],
    k: int,
    score: Score,
    points: NDArray[Any],
    rng: np.random.Generator,
) -> list[int]:
    density = reference.simulate(points, rng)
    return [word.position for word in top_words(density, vocabulary, k, score=score)]
