"""Audits of learners that protect users with many examples each: the law of the hypothesis that is selected.

With the public randomness fixed, a user's examples lead to one hypothesis, whatever the learner. So what is selected
from all users' has the law of the selection, and the guarantee is tested for a user with all of her examples.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dpverify.audit.running.target import Runnable, Target, target_of
from dpverify.audit.subject import Dataset, Neighbours, Subject, distinct
from dpverify.claims.user_level.classifier import selected_law
from protocols.user_level.classifier import UserLevelClassifier
from protocols.user_level.representations import Representation
from protocols.validation import check_integer

__all__ = ["user_level_subject"]

_MOST_EXAMPLES = 2**14
"""Of one user, which a learner of an audit may need."""
_MOST_CONCEPTS = 64
"""Of which two are looked for that users find different hypotheses of."""


def user_level_subject(reference: UserLevelClassifier, *, implementation: Runnable | None = None) -> Subject:
    """Return a fitted learner as a subject: users with examples of one concept, or of two, and one who has others.

    - reference: What is claimed to run, fitted with a private selection and `public_random_state` an integer; its users
      take part.
    - implementation: What does run: `function(examples, rng)` with examples of shape (users, examples of each, features
      + 1), the label last, returns the selected row of `public_.table`, of **this** public learner. `reference` fitted
      anew when omitted.

    Raises ValueError if the public randomness is not known, or the law of the selection cannot be listed: audit fewer
    users or hypotheses.
    """
    if not isinstance(reference, UserLevelClassifier):
        raise TypeError(f"reference={reference!r} must be a UserLevelClassifier.")
    check_is_fitted(reference)
    check_integer("public_random_state", reference.public_random_state, low=0)
    first, second = _samples(reference)
    users, found = reference.n_users_, [_found(reference, sample) for sample in (first, second)]
    datasets = []
    for name, others in _others(users).items():
        law = selected_law(reference, np.where(others, found[1], found[0]))
        inputs = np.where(others[:, np.newaxis, np.newaxis], second, first)
        datasets.append(Dataset(name, inputs, {0: ("selected hypothesis", law)}))
    name = f"user-level classifier, {reference.selection_!r} among {len(reference.public_.table)} hypotheses"
    target = target_of(implementation or Target(functools.partial(_own, reference), name=name))
    at = {dataset.name: place for place, dataset in enumerate(datasets)}
    return Subject(
        target.name or "target",
        target,
        datasets,
        [Neighbours(at[one], at[other]) for one, other in _NEIGHBOURS if one in at and other in at],
        silent_on=(
            "how accurate a hypothesis is, and how often users agree on one, over the public randomness",
            "examples that lead to other hypotheses than two",
            "what users send to the selection, which has an audit of its own",
        ),
        reference=reference,
    )


_NEIGHBOURS = (
    ("all with the same examples", "one with others"),
    ("half with others", "half with others, and one more"),
)


def _others(users: int) -> dict[str, NDArray[np.bool_]]:
    """Return which users have the second sample, by dataset."""
    half = np.arange(users) >= users - users // 2
    one, more = np.arange(users) == users - 1, half.copy()
    more[0] = True
    cases = (half & False, one, half, more)
    names = (name for pair in _NEIGHBOURS for name in pair)
    return distinct(dict(zip(names, cases, strict=True)))


def _samples(reference: UserLevelClassifier) -> list[NDArray[np.int64]]:
    """Return examples of two concepts from which users find different hypotheses, as few as the learner takes."""
    representation = reference.learner.representation
    concepts, domain = representation.concepts, representation.domain
    examples = domain
    while True:
        points = np.arange(examples) % domain
        try:
            reference.public_.learn(points, concepts[0][points])
            break
        except ValueError:
            examples *= 2
            if examples > _MOST_EXAMPLES:
                raise
    found = [
        np.column_stack([_rows(representation, points), concept[points]]).astype(np.int64)
        for concept in concepts[np.linspace(0, len(concepts) - 1, min(len(concepts), _MOST_CONCEPTS)).astype(int)]
    ]
    own = _found(reference, found[0])
    other = next((sample for sample in found[::-1] if _found(reference, sample) != own), None)
    if other is None:
        raise ValueError(f"learner={reference.learner!r} must find different hypotheses of some concepts.")
    return [found[0], other]


def _rows(representation: Representation, points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows of features that stand for points: the points, or their bits."""
    if representation.features == 1:
        return points[:, np.newaxis]
    return np.asarray(points[:, np.newaxis] >> np.arange(representation.features) & 1)


def _found(reference: UserLevelClassifier, sample: NDArray[np.int64]) -> int:
    return reference.public_.learn(reference.learner.representation.encode(sample[:, :-1]), sample[:, -1])


def _own(reference: UserLevelClassifier, examples: NDArray[Any], rng: np.random.Generator) -> int:
    users, each, width = examples.shape
    rows = examples.reshape(-1, width)
    model = clone(reference).set_params(random_state=rng)
    return int(model.fit(rows[:, :-1], rows[:, -1], groups=np.repeat(np.arange(users), each)).hypothesis_)
