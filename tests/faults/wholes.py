"""Faults of learners as wholes: classifiers with private labels, decoded words, learners that protect users."""

import functools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpverify.audit.running.target import Target
from dpverify.audit.subject import Subject
from dpverify.audit.subjects.classifier import classifier_subject, decoding_subject
from dpverify.audit.subjects.kde import places_of
from dpverify.audit.subjects.user_level import user_level_subject
from protocols.bitsum import RandomizedResponse
from protocols.classifier import HighestDensityClassifier
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures
from protocols.user_level.central_selection import ExponentialSelection
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.representations import Thresholds
from protocols.user_level.stable_learner import WeighingLearner
from tests.faults.fault import Array, Fault, Run
from tests.faults.making import faults_of

__all__ = ["CORRECT_WHOLES", "WHOLE_FAULTS"]

CLASSES = HighestDensityClassifier(
    GaussianFeatures(1),
    instances=2,
    bitsum=functools.partial(RandomizedResponse, flip_probability=0.2),
    label_epsilon=1.0,
    classes=[0, 1],
    random_state=1,
    empty_class="never",
).fit(np.zeros((6, 1)), np.arange(6) % 2)
DENSITY = KernelDensityProtocol(RandomizedResponse(5, 0.2), GaussianFeatures(2).sample(3, np.random.default_rng(1)))
SHARPNESS = 5.0
USER_LEVEL = UserLevelClassifier(
    WeighingLearner(Thresholds(3), SHARPNESS), functools.partial(ExponentialSelection, epsilon=1.0), random_state=1
).fit(np.arange(18)[:, np.newaxis] % 3, np.arange(18) % 3 >= 1, groups=np.arange(18) // 3)


def _two_datasets(subject: Subject) -> Subject:
    return replace(subject, datasets=subject.datasets[:2], neighbours=subject.neighbours[:1])


def classes_subject(run: Run) -> Subject:
    return _two_datasets(classifier_subject(CLASSES, implementation=Target(run, True, (6,))))


def words_subject(run: Run) -> Subject:
    return _two_datasets(decoding_subject(DENSITY, k=2, implementation=Target(run, True, (2,))))


def users_subject(run: Run) -> Subject:
    return user_level_subject(USER_LEVEL, implementation=Target(run, True, ()))


Coins = Callable[[np.random.Generator, tuple[int, ...]], Array]


def _below(chance: float) -> Coins:
    return lambda rng, shape: rng.random(shape) < chance


_kept, _flipped = _below(math.e / (1.0 + math.e)), _below(0.2)
"""Whether a label is published as it is, at epsilon 1 among two classes, and whether a bit is not."""


def classed(keeps: Coins = _kept, mask: Coins = _flipped, *, true_members: bool = False, of_all: bool = False) -> Run:
    """Return the classifier in a few lines that share no code with `protocols`, but for the public features."""

    def run(users: Array, rng: np.random.Generator, trials: int) -> Array:
        chances = 0.5 + CLASSES.features_.f(users[:, :1])[:, :, 0] / (2.0 * math.sqrt(2.0))
        labels = users[:, 1].astype(int)
        reported = np.where(keeps(rng, (trials, 6)), labels, 1 - labels)
        sent = (rng.random((trials, 6, 2)) < chances) ^ mask(rng, (trials, 6, 2))
        counts, published = [], []
        for label in (0, 1):
            own = (np.tile(labels, (trials, 1)) if true_members else reported) == label
            count = (reported == label).sum(axis=1)
            ones = ((sent & own[:, :, np.newaxis]).sum(axis=1) - 0.2 * count[:, np.newaxis]) / 0.6
            sums = (2.0 * ones - (6 if of_all else count[:, np.newaxis])) * math.sqrt(2.0)
            counts.append(count)
            published.append(np.where(count[:, np.newaxis] > 0, sums, 0.0))
        return np.column_stack([*counts, *published])

    return run


def worded(rank: Callable[[Array], Array]) -> Run:
    """Return the words by the densities at the places, shape (trials, words), as `rank` orders them."""
    places = places_of(DENSITY.features.family)

    def run(points: Array, rng: np.random.Generator, trials: int) -> Array:
        chances = 0.5 + DENSITY.features.f(points)[:, :, 0] / (2.0 * math.sqrt(2.0))
        sent = (rng.random((trials, 5, 3)) < chances) ^ (rng.random((trials, 5, 3)) < 0.2)
        published = (2.0 * (sent.sum(axis=1) - 1.0) / 0.6 - 5) * math.sqrt(2.0)
        return rank(published @ DENSITY.features.g(places)[:, :, 0].T)[:, :2]

    return run


def _falling(densities: Array) -> Array:
    return np.argsort(-densities, axis=1, kind="stable")


def _halved(counts: Array) -> Array:
    return np.exp(counts / 2.0)


def voted(weight: Callable[[Array], Array] = _halved, clocks: int | None = 0, *, of_examples: int = 1) -> Run:
    """Return the learner of thresholds with the public clocks of a seed, or with each user's own."""

    def run(examples: Array, rng: np.random.Generator, trials: int) -> Array:
        table = np.arange(3) >= np.arange(4)[:, np.newaxis]
        wrong = np.array([(table[:, sample[:, 0]] != sample[:, 1]).mean(axis=1) for sample in examples])
        drawn = np.random.default_rng(clocks).gumbel(size=4) if clocks is not None else rng.gumbel(size=(trials, 6, 4))
        found = np.broadcast_to(np.argmax(-SHARPNESS * wrong + drawn, axis=-1), (trials, 6))
        weights = weight(of_examples * (found[:, :, np.newaxis] == np.arange(4)).sum(axis=1).astype(float))
        chances = weights.cumsum(axis=1) / weights.sum(axis=1, keepdims=True)
        return (rng.random((trials, 1)) > chances).sum(axis=1)

    return run


CORRECT_WHOLES: dict[str, Callable[[], Subject]] = {
    "classifier": lambda: classes_subject(classed()),
    "decoding": lambda: words_subject(worded(_falling)),
    "user-level learner": lambda: users_subject(voted()),
}
"""Correct implementations, run through the same subjects: what the faults are faults of."""
WHOLE_FAULTS: tuple[Fault, ...] = (
    *faults_of(
        "classifier", classes_subject,
        ("classifier-labels-in-the-clear", "labels are published as they are", "the first round left out",
         classed(lambda rng, shape: np.ones(shape, dtype=bool))),
        ("classifier-users-of-the-true-class", "points are counted in the true class", "an index that was kept",
         classed(true_members=True)),
        ("classifier-label-at-1.5", "labels at epsilon 1.5", "another share of the budget",
         classed(_below(1.0 / (1.0 + math.exp(-1.5))))),
        ("classifier-n-of-all-classes", "2 B - n with the n of all users", "one object for all classes",
         classed(of_all=True)),
    ),
    *faults_of(
        "decoding", words_subject,
        ("decoding-least-first", "the words of the least density", "sorted without the sign",
         worded(lambda densities: np.argsort(densities, axis=1, kind="stable"))),
        ("decoding-by-size", "densities are ranked by their size", "norms in place of inner products",
         worded(lambda densities: _falling(np.abs(densities)))),
        ("decoding-in-order-of-words", "the best words in the vocabulary's order", "a partition that is not sorted",
         worded(lambda densities: np.sort(_falling(densities)[:, :2], axis=1))),
        ("decoding-clipped", "negative densities are 0", "a density cannot be negative",
         worded(lambda densities: _falling(np.maximum(densities, 0.0)))),
    ),
    *faults_of(
        "user-level learner", users_subject,
        ("user-level-half-forgotten", "weights exp(eps c)", "right for added users", voted(np.exp)),
        ("user-level-votes-by-example", "every example has a vote", "rows taken for users", voted(of_examples=3)),
        ("user-level-other-public-seed", "another public seed than was announced", "a default changed",
         voted(clocks=1)),
        ("user-level-private-clocks", "every user draws her own clocks", "the public randomness is not shared",
         voted(clocks=None)),
    ),
)  # fmt: skip
