"""Audits of a kernel density estimator with its public features: what every feature shows, all together, and errors.

With the features fixed, what is published is independent sums of bits, each of which has a law: so has its view, the
privacy loss of all of them together, and the error at a query. Where features are drawn anew in every run, only the
mean and the size of the error are known: see `dpverify.audit.subjects.density`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import ReadTarget, Runnable, Target
from dpverify.audit.subject import Dataset, Messages, Neighbours, Subject, distinct
from dpverify.audit.subjects.bitsum import Implementation, Shuffler, message_by_message
from dpverify.audit.subjects.pipelines import one_chances, published_laws, with_summed_losses
from dpverify.claims.registry import claims_of
from dpverify.laws.sums import Mixture, numbers_of_ones
from dpverify.statistics.instances import SummedValues
from protocols.classes.frozen import dataclass
from protocols.kde import KernelDensityProtocol
from protocols.lsq import LSQFamily
from protocols.shuffler import shuffle
from protocols.validation import check_integer

__all__ = ["density_inputs", "density_subject", "own_density", "places_of"]


_MOST_USERS = 256
"""Of the laws of all numbers of ones."""
_MOST_CELLS = 2**22
_WATCHED_FEATURES, _WATCHED_MESSAGES = 32, 1_000
"""Up to so many features, and messages, a run is made message by message; beyond that no messages are seen."""
_MOST_FEATURES = 4
"""Of more, the first and the last are tested one by one, and all others by medians, spread and summed loss."""
_PLACES, _QUERIES = 8, 3
"""Where users stand, and at how many of these places the error is looked at."""
_PLACED = 20
"""The seed of these places, and of who stands where."""


def own_density(
    protocol: KernelDensityProtocol, *, shuffler: Shuffler = shuffle, aggregated: bool | None = None
) -> Implementation:
    """Return what can be watched of one of our own protocols, or of a subclass, which may override anything.

    - protocol: The implementation.
    - shuffler: The shuffler of the message-level path.
    - aggregated: Whether to run `simulate`, which shows no messages; by default for more than some tens of features, or
      a thousand messages.
    """
    coordinates, symbols = protocol.features.coordinates, len(protocol.bitsum.alphabet)
    if aggregated is None:
        aggregated = coordinates > _WATCHED_FEATURES or protocol.users * coordinates > _WATCHED_MESSAGES
    name = f"density by {protocol.bitsum!r} and {coordinates} features of {protocol.features.family!r}"
    if aggregated or not symbols:
        return Implementation(Target(functools.partial(_simulated, protocol), False, (coordinates,), name), name=name)
    target = message_by_message(protocol, shuffler, _seen, coordinates * (1 + symbols))
    target = Target(target.function, target.batch, target.shape, name)
    watching = Implementation.watching(protocol, target, shuffler, functools.partial(_numbered, protocol))
    return replace(watching, name=name)


def _simulated(protocol: KernelDensityProtocol, points: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    return protocol.simulate(points, rng).published.ravel()


def _seen(protocol: KernelDensityProtocol, shuffled: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what is published, and then the number of messages of each (feature, symbol)."""
    cells = protocol.features.coordinates * len(protocol.bitsum.alphabet)
    counts = np.bincount(_numbered(protocol, shuffled), minlength=cells)
    return np.concatenate([protocol.analyze(shuffled).published.ravel(), counts])


def _numbered(protocol: KernelDensityProtocol, symbols: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one number for each message (symbol, feature)."""
    alphabet = np.array(protocol.bitsum.alphabet)
    return np.asarray(symbols[:, 1] * alphabet.size + (symbols[:, :1] == alphabet).argmax(axis=1))


def density_subject(
    reference: KernelDensityProtocol,
    *,
    implementation: Implementation | KernelDensityProtocol | Runnable | None = None,
) -> Subject:
    """Return a density estimator with its public features as a subject: views, the privacy of all, and errors.

    Users stand at one place, or at several; the neighbour moves one of them to the place that changes most. The laws
    are those of every feature's published number, of its view, of the privacy loss summed over all features, which a
    claim is tested on, and of the error at a few queries.

    - reference: What is claimed to run; few users, for the law at each number of ones is listed.
    - implementation: What does run: `function(points, rng)` returns `KernelDensity.published`, as a row of instances
      times Q numbers, of the estimator with **these** features. With `Implementation(counts=True)`, a row of that and
      of the number of messages of each (feature, symbol); its messages are `feature * symbols + place of the symbol`.
      `reference` itself when omitted.

    Raises ValueError for more than 256 users, or a bitsum without a discrete law.
    """
    if not isinstance(reference, KernelDensityProtocol):
        raise TypeError(f"reference={reference!r} must be a KernelDensityProtocol.")
    check_integer("users", reference.users, low=1, high=_MOST_USERS)
    shape = (reference.features.coordinates,)
    implementation = Implementation.given(implementation, shape, reference, KernelDensityProtocol, own_density)
    places = places_of(reference.features.family)
    inputs = density_inputs(reference)
    laws = _Laws.of(reference, implementation.counts, inputs[_SPREAD], places[:_QUERIES])
    at = {name: place for place, name in enumerate(inputs)}
    silent: tuple[str, ...] = ("how a published estimate is evaluated at a query, which costs no privacy",)
    if laws.views is None:
        silent = (*silent, "the messages behind what is published, which are what the adversary sees")
    if reference.features.coordinates > _MOST_FEATURES:
        silent = (*silent, "single features but a few, other than by medians, spread and the summed loss")
    pairs = (_SPREAD, _SPREAD_MOVED), (_AT_ONE, _MOVED)
    return with_summed_losses(
        Subject(
            implementation.name,
            ReadTarget.of(implementation.target, laws.read, laws.width - implementation.target.shape[0]),
            [laws.dataset(name, points) for name, points in inputs.items()],
            tuple(Neighbours(at[one], at[other]) for one, other in pairs if one in at and other in at),
            _messages(reference, implementation, places),
            silent_on=silent,
            reference=reference,
        )
    )


_AT_ONE, _MOVED = "all at one place", "one somewhere else"
_SPREAD, _SPREAD_MOVED = "at several places", "at several places, but one moved"


def places_of(family: LSQFamily) -> NDArray[np.float64]:
    """Return where users stand: at the length that the family needs, or at its bandwidth, in all directions."""
    places = np.random.default_rng(_PLACED).normal(size=(_PLACES, family.dimension))
    own: float = getattr(family, "bandwidth", 1.0) if family.radius is None else family.radius
    length = 1.0 if family.requires_unit_vectors else own
    return family.accepted(length * places / np.linalg.norm(places, axis=1, keepdims=True))


def density_inputs(reference: KernelDensityProtocol) -> dict[str, NDArray[np.float64]]:
    """Return points of all users by name: at several places or at one, each with one user who goes elsewhere."""
    places = places_of(reference.features.family)
    users = np.random.default_rng(_PLACED).permutation(np.arange(reference.users) % _PLACES)
    chances = one_chances(reference, np.concatenate([places, -places]))

    def moved(points: NDArray[np.float64], user: int) -> NDArray[np.float64]:
        here = one_chances(reference, points[user : user + 1])
        points = points.copy()
        points[user] = np.concatenate([places, -places])[np.argmax(((chances - here) ** 2).sum(axis=1))]
        return points

    one, several = np.repeat(places[:1], reference.users, axis=0), places[users]
    cases = {_SPREAD: several, _SPREAD_MOVED: moved(several, 0), _AT_ONE: one, _MOVED: moved(one, reference.users - 1)}
    return distinct(cases)


@dataclass(frozen=True, eq=False)
class _Laws:
    """The laws of what is published, of the views behind it, and of errors, on any points.

    The columns that are read: what is published, then a number for each feature's view if views are seen, then the
    errors at the queries.
    """

    reference: KernelDensityProtocol
    published: Mixture
    views: Mixture | None
    low: NDArray[np.int64]
    sides: NDArray[np.int64]
    queries: NDArray[np.float64]
    errors: Sequence[SummedValues]

    @classmethod
    def of(
        cls, reference: KernelDensityProtocol, counted: bool, points: NDArray[np.float64], queries: NDArray[np.float64]
    ) -> _Laws:
        published = published_laws(reference)
        weights = reference.features.g(queries).reshape(len(queries), -1)
        weights = weights / (reference.users * reference.features.instances)
        common = published.listed
        laws = [published.law(ones) for ones in numbers_of_ones(one_chances(reference, points))]
        deviations = np.sqrt(weights**2 @ [law.variance for law in laws])
        errors = [
            SummedValues([common] * len(laws), [weight * common.points for weight in row], float(deviation))
            for row, deviation in zip(weights, deviations, strict=True)
            if deviation > 0.0
        ]
        views, low, sides = None, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if counted:
            bitsum = reference.bitsum
            rows = [claims_of(bitsum).view_law(bitsum, ones) for ones in range(reference.users + 1)]
            low = np.min([law.points.min(axis=0) for law in rows], axis=0)
            sides = 1 + np.max([law.points.max(axis=0) for law in rows], axis=0) - low
            if int(np.prod(sides)) * len(rows) <= _MOST_CELLS:
                views = Mixture.of([law.image(functools.partial(_cells, low, sides)) for law in rows])
        return cls(reference, published, views, low, sides, queries[deviations > 0.0], errors)

    @property
    def width(self) -> int:
        """How many columns are read."""
        return self.reference.features.coordinates * (1 + (self.views is not None)) + len(self.errors)

    def read(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns that have laws."""
        features = self.reference.features.coordinates
        columns = [outputs[:, :features]]
        if self.views is not None:
            columns.append(_cells(self.low, self.sides, outputs[:, features:].reshape(len(outputs), features, -1)))
        for query, error in enumerate(self.errors):
            columns.append(self._off(query, error.scores(columns[0]))[:, np.newaxis])
        return np.concatenate(columns, axis=1)

    def _off(self, query: int, scores: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(scores * self.errors[query].step)

    def dataset(self, name: str, points: NDArray[np.float64]) -> Dataset:
        """Return a dataset with the laws of its columns."""
        features = self.reference.features.coordinates
        ones = numbers_of_ones(one_chances(self.reference, points))
        published = [self.published.law(each) for each in ones]
        looked_at = range(features) if features <= _MOST_FEATURES else [*range(_MOST_FEATURES - 1), features - 1]
        columns = {at: (f"feature {at}", published[at]) for at in looked_at}
        separate, begin = published, 0
        if self.views is not None:
            separate, begin = [self.views.law(each) for each in ones], features
            columns |= {features + at: (f"view of feature {at}", separate[at]) for at in looked_at}
        for query, error in enumerate(self.errors):
            law = error.law(published).image(functools.partial(self._off, query))
            columns[self.width - len(self.errors) + query] = (f"density at query {query}", law)
        truths = self.reference.features.family.kernel(points, self.queries).mean(axis=0).tolist()
        known = dict(zip(range(self.width - len(self.errors), self.width), truths, strict=True))
        return Dataset(name, points, columns, None, (slice(begin, begin + features), separate), known)


def _cells(low: NDArray[np.int64], sides: NDArray[np.int64], rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the number of each row's cell in a box of counts; -1 outside."""
    places = rows - low
    inside = ((places >= 0) & (places < sides) & (places == np.floor(places))).all(axis=-1)
    places = np.where(inside[..., np.newaxis], places, 0).astype(np.int64)
    return np.where(inside, np.ravel_multi_index(tuple(np.moveaxis(places, -1, 0)), tuple(sides)), -1.0)


def _messages(
    reference: KernelDensityProtocol, implementation: Implementation, places: NDArray[np.float64]
) -> Messages | None:
    if implementation.sent is None or implementation.arrived is None:
        return None
    users, bitsum, claims = reference.users, reference.bitsum, claims_of(reference.bitsum)
    fewest, most = claims.messages_range(bitsum)
    features, symbol = reference.features.coordinates, bitsum.alphabet[-1]
    pieces = [claims.marginals(bitsum, one, 1).get(f"count of {symbol:+d}") for one in (0, 1)]
    known = [piece for piece in pieces if piece is not None]
    ((chance, *_),) = one_chances(reference, places[:1])
    return Messages(
        implementation.sent,
        implementation.arrived,
        np.repeat([places[0], -places[0]], [users - users // 2, users // 2], axis=0),
        np.repeat(places[:1], users, axis=0),
        len(bitsum.alphabet) - 1,
        Mixture.of(known).law(np.array([1.0 - chance, chance])) if len(known) == 2 else None,
        fewest * features,
        most * features,
    )
