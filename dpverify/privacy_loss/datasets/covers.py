"""What covers the pairs of a family: entries for every instance, and other entries that would do as well."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dpverify.privacy_loss.losses.distribution import PrivacyLossDistribution
from protocols.classes.frozen import dataclass

__all__ = ["Branch", "Covers", "Entry", "Made", "members", "tied"]

Item = TypeVar("Item")

Entry = PrivacyLossDistribution | Sequence[PrivacyLossDistribution]
"""One pair, or a group of pairs of which an instance may present any."""

_FEW_INSTANCES = 32
"""Up to so many every mix can be looked at by itself."""
_DISTINCT = 0.008
"""How much better, relatively, the other pairs of a cover that is chosen for many instances are than its worst."""


@dataclass(frozen=True, eq=False)
class Branch:
    """A pair that dominates a part of a family, and the parts of that part: together they dominate it more closely.

    - pair: Of which any pair of the part is a post-processing.
    - split: Returns the smaller parts; none where there is nothing to divide.
    - attained: Whether a dataset attains the pair, whatever the others' pairs in other instances are.
    """

    pair: PrivacyLossDistribution
    split: Callable[[], Sequence[Branch]] = tuple
    attained: bool = False


class Made(Sequence[Item]):
    """Items that are made when they are first asked for, and kept.

    - makers: One for each.
    """

    def __init__(self, makers: Sequence[Callable[[], Item]]) -> None:
        self._makers = [functools.cache(maker) for maker in makers]

    def __len__(self) -> int:
        return len(self._makers)

    def __getitem__(self, place: Any) -> Any:
        return [maker() for maker in self._makers[place]] if isinstance(place, slice) else self._makers[place]()


class Covers(tuple[Entry, ...]):
    """Entries for a `FamilyComposition`, and others that would do as well: each choice covers every pair by itself.

    - entries: Good in general.
    - others: Better for some numbers of instances. In order: what precedes the last pair of each takes ever more from
      it, and the last choice is best for one. They and the pieces may be `Made` when asked for.
    - once: Pairs that a dataset attains, for lower bounds of one instance: a dataset that is worst once is not worst
      often.
    - single: Returns parts of the family, of which the pair of one by itself dominates any pair of the family; see
      `AnyMix`.
    - pieces: More choices, of more pairs that are closer to those they stand for: where each is bounded by itself.
    """

    others: Sequence[Sequence[PrivacyLossDistribution]]
    once: tuple[PrivacyLossDistribution, ...]
    single: Callable[[], Sequence[Branch]] | None
    pieces: Sequence[Sequence[PrivacyLossDistribution]]
    tied: bool = False
    """Whether datasets attain pairs in all instances only, and no mix of them: see `tied`."""

    def __new__(
        cls,
        entries: Sequence[Entry],
        others: Sequence[Sequence[PrivacyLossDistribution]],
        once: Sequence[PrivacyLossDistribution] = (),
        single: Callable[[], Sequence[Branch]] | None = None,
        pieces: Sequence[Sequence[PrivacyLossDistribution]] = (),
    ) -> Covers:
        """Make the tuple of the entries."""
        made = super().__new__(cls, entries)
        made.others = others if isinstance(others, Made) else tuple(map(tuple, others))
        made.once = tuple(once)
        made.single = single
        made.pieces = pieces if isinstance(pieces, Made) else tuple(map(tuple, pieces))
        return made

    def likeliest(self, instances: int, estimate: Callable[[PrivacyLossDistribution], float]) -> Sequence[Entry]:
        """Return the choice whose worst pair has the least epsilon, by an estimate for many instances of one pair.

        From one of `others` to the next the first pair grows and the last one falls: where they cross the worst is
        least. The search over many mixes is quick only where one pair is worse by far: there they must differ.
        """
        best = max(estimate(pair) for entry in self for pair in members(entry))
        found: Sequence[Entry] = self
        room = 1.0 if instances <= _FEW_INSTANCES else 1.0 + _DISTINCT
        low, high = 0, len(self.others)
        while low < high:
            middle = (low + high) // 2
            estimates = [estimate(pair) for pair in self.others[middle]]
            *less, most = sorted(estimates)
            apart = room == 1.0 or all(room * one <= most for one in less)
            if apart and most < best:
                best, found = most, self.others[middle]
            low, high = (middle + 1, high) if apart and estimates[0] <= estimates[-1] else (low, middle)
        return found


def members(entry: Entry) -> list[PrivacyLossDistribution]:
    """Return the pairs of an entry."""
    return [entry] if isinstance(entry, PrivacyLossDistribution) else list(entry)


def tied(entries: Sequence[Entry]) -> Covers:
    """Return entries whose instances share the other users' points, so that no mix of attained pairs need be attained.

    The bounds from above are the same.
    """
    same = entries if isinstance(entries, Covers) else Covers(entries, ())
    made = Covers(same, same.others, same.once, same.single, same.pieces)
    made.tied = True
    return made
