"""Scores learned from outputs whose law is not known: the higher, the likelier the first of two inputs is.

None is trusted: a score only proposes events, which are then chosen on other outputs and tested on yet others.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.statistics.outputs.aspects import Aspect, coded_aspects, codes_of, features, lowest_bits, numeric_aspects
from dpverify.statistics.outputs.events import Score, classifier_score, histogram_score
from dpverify.statistics.outputs.trees import SmallTrees
from protocols.classes.frozen import dataclass

__all__ = ["FEW_KINDS", "NamedScore", "kinds_of", "learned_scores", "table_score"]

_TABLES, _PEAKED = 12, 6
"""Tables of codes that are kept: those whose training frequencies differ most, and whose one code breaks a claim."""
_MOST_EPSILON = 100.0
_PLAIN = 0.05
"""The weight of a plain log-ratio: next to nothing."""
FEW_KINDS, _KNOWN = 64, 50
"""Of so few kinds of outputs, and so many of each on average, a table of whole outputs says all that there is."""
_NEAR = 2**16
"""Codes of a table that are no farther apart are found by their places, others by a search."""
_CLASSIFIED = 20_000
"""Training outputs on each input that a classifier is fitted to."""


@dataclass(frozen=True)
class NamedScore:
    """A score, and what of the outputs it looks at.

    - name: As in a report.
    - of: See `dpverify.statistics.outputs.events.Score`.
    - fitted: Whether it has been fitted to the training outputs: on these it shows more than on others.
    - plain: Whether it is a number of the output itself, or a fixed sum of its numbers, of any size.
    - costly: Whether it takes longer than all others together: only where it shows more is it looked at.
    """

    name: str
    of: Score
    fitted: bool = True
    plain: bool = False
    costly: bool = False


@dataclass(frozen=True)
class _Table:
    """Cautious log-ratios of codes' frequencies; 0 for a code that was seen less than twice."""

    aspect: Aspect
    codes: NDArray[np.int64]
    ratios: NDArray[np.float64]
    excess: float
    peak: float

    @cached_property
    def _near(self) -> NDArray[np.float64] | None:
        """The ratios by the place of the code, with a 0 at either end; None where codes are too far apart."""
        low, high = int(self.codes[0]), int(self.codes[-1])
        if high - low > _NEAR:
            return None
        ratios = np.zeros(high - low + 3)
        ratios[self.codes - (low - 1)] = self.ratios
        return ratios

    def __call__(self, samples: NDArray[np.float64]) -> NDArray[np.float64]:
        codes = self.aspect.of(samples)
        if self._near is not None:
            # Codes far below or above, which may go around, are the ends.
            return np.asarray(self._near.take(codes - (self.codes[0] - 1), mode="clip"))
        at = np.minimum(np.searchsorted(self.codes, codes), self.codes.size - 1)
        return np.where(self.codes[at] == codes, self.ratios[at], 0.0)


def table_score(
    aspect: Aspect, first: NDArray[np.float64], second: NDArray[np.float64], epsilon: float = 0.0
) -> _Table | None:
    """Return the score of a code, from training outputs; None where every output has a code of its own.

    - aspect: With codes.
    - first, second (ndarray, shape (trials, columns)): Training outputs on the two inputs.
    - epsilon: The claim, which single codes are held against.
    """
    found, counts = _counted(aspect.of(first), aspect.of(second))
    often = counts.sum(axis=0) >= 2
    if not often.any() or found.size == 1:
        return None
    counts = counts[:, often]
    ratios = _cautious(counts[0], counts[1]) - _cautious(counts[1], counts[0])
    # Twice the log-likelihood gained over equal frequencies, less what a table of this size gains by chance.
    pooled = counts.sum(axis=0) / (len(first) + len(second))
    expected = np.outer([len(first), len(second)], pooled)
    gained = 2.0 * float(np.sum(np.where(counts > 0, counts * np.log(np.maximum(counts, 1.0) / expected), 0.0)))
    grown = math.exp(min(epsilon, _MOST_EPSILON))
    beyond = [(a - grown * b) / np.sqrt(a + grown**2 * b) for a, b in (counts, counts[::-1])]
    peak = float(np.max(beyond))
    return _Table(aspect, found[often], ratios, gained - 1.4 * int(often.sum()), peak)


def _counted(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the different codes in order, and how often either sample has them, shape (2, codes)."""
    codes = np.concatenate([first, second])
    low = int(codes.min())
    width = int(codes.max()) - low + 1
    if width <= codes.size:  # few enough to count by their places, without sorting
        counts = np.stack([np.bincount(x - low, minlength=width) for x in (first, second)])
        found = np.flatnonzero(counts.any(axis=0))
        return found + low, counts[:, found].astype(np.float64)
    found, place = np.unique(codes, return_inverse=True)
    parts = place[: len(first)], place[len(first) :]
    return found, np.stack([np.bincount(x, minlength=found.size) for x in parts]).astype(np.float64)


def _cautious(more: NDArray[np.float64], less: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-ratio of two counts, each off by a deviation; 0 where the first is not the larger one.

    Of many codes some are seen five times against none by chance: one that is seen forty times against seven shows
    more. Codes that show nothing this way keep the order of their plain ratios.
    """
    more, less = more + 0.5, less + 0.5
    plain = np.log(more / less)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log((more - np.sqrt(more)) / (less + np.sqrt(less)))
    return np.where(more > less, np.fmax(shown, _PLAIN * plain), 0.0)


def learned_scores(
    first: NDArray[np.float64], second: NDArray[np.float64], *, epsilon: float = 0.0, seed: int = 0
) -> list[NamedScore]:
    """Return scores of whole outputs, learned from training outputs.

    Every column, their sum and a linear discriminant as they are, the best of them as histograms; the tables of codes
    whose frequencies differ most; and the log-odds of a gradient-boosted classifier, unless there are so few kinds of
    outputs that a table of them is known well.

    - first, second (ndarray, shape (trials, columns)): Training outputs on the two inputs.
    - epsilon: The claim; 0 where nothing is claimed.
    - seed: Of the classifier.
    """
    numbers = list(numeric_aspects(first, second))
    scores = [
        NamedScore(f"tails of {aspect.name}", aspect.of, aspect.fitted, True)  # type: ignore[arg-type]
        for aspect in (*numbers, *lowest_bits(first, second))
    ]
    for aspect in [*numbers[:8], *numbers[max(8, len(numbers) - 2) :]]:
        histogram = histogram_score(aspect.of(first), aspect.of(second))
        scores.append(
            NamedScore(f"a histogram of {aspect.name}", lambda rows, of=aspect.of, h=histogram: h(of(rows)))  # type: ignore[misc]
        )
    tables = [
        table for aspect in coded_aspects(first, second) if (table := table_score(aspect, first, second, epsilon))
    ]
    whole, others = tables[:1], sorted(tables[1:], key=lambda table: -table.excess)
    peaked = sorted(others[_TABLES:], key=lambda table: -table.peak)[:_PEAKED]
    scores += [NamedScore(table.aspect.name, table) for table in [*whole, *others[:_TABLES], *peaked]]
    kinds = kinds_of(first, second)
    if numbers and not (kinds <= FEW_KINDS and len(first) >= _KNOWN * kinds):
        scores.append(_classified(first[:_CLASSIFIED], second[:_CLASSIFIED], seed))
    return scores


def kinds_of(first: NDArray[np.float64], second: NDArray[np.float64]) -> int:
    """Return how many kinds of outputs there are on both inputs; see `FEW_KINDS`."""
    return np.unique(np.concatenate([codes_of(first), codes_of(second)])).size


def _classified(first: NDArray[np.float64], second: NDArray[np.float64], seed: int) -> NamedScore:
    score = classifier_score(features(first), features(second), seed=seed)
    wanted = score.used if isinstance(score, SmallTrees) else None
    return NamedScore("a gradient-boosted classifier", lambda rows: score(features(rows, wanted)), costly=True)
