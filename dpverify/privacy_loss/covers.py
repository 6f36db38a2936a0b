"""What covers the pairs of a family: entries for every instance, and other entries that would do as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dpverify.privacy_loss.distribution import PrivacyLossDistribution

__all__ = ["Covers", "Entry", "members"]

Entry = PrivacyLossDistribution | Sequence[PrivacyLossDistribution]
"""One pair, or a group of pairs of which an instance may present any."""

_FEW_INSTANCES = 16
"""Up to so many every mix can be looked at by itself."""
_DISTINCT = 0.008
"""How much better, relatively, the other pairs of a cover that is chosen for many instances are than its worst."""


class Covers(tuple[Entry, ...]):
    """Entries for a `FamilyComposition`, and others that would do as well: each choice covers every pair by itself.

    Parameters
    ----------
    entries : sequence of Entry
        Good in general.
    others : sequence of sequences of PrivacyLossDistribution
        Better for some numbers of instances.
    once : sequence of PrivacyLossDistribution
        Pairs that a dataset attains, for lower bounds of one instance: a dataset that is worst once is not worst often.
    single : sequence of PrivacyLossDistribution
        Pairs of which one by itself dominates any pair of the family; see `AnyMix`.
    """

    others: tuple[tuple[PrivacyLossDistribution, ...], ...]
    once: tuple[PrivacyLossDistribution, ...]
    single: tuple[PrivacyLossDistribution, ...]

    def __new__(
        cls,
        entries: Sequence[Entry],
        others: Sequence[Sequence[PrivacyLossDistribution]],
        once: Sequence[PrivacyLossDistribution] = (),
        single: Sequence[PrivacyLossDistribution] = (),
    ) -> Covers:
        """Make the tuple of the entries."""
        made = super().__new__(cls, entries)
        made.others = tuple(tuple(other) for other in others)
        made.once = tuple(once)
        made.single = tuple(single)
        return made

    def likeliest(self, instances: int, estimate: Callable[[PrivacyLossDistribution], float]) -> Sequence[Entry]:
        """Return the choice whose worst pair has the least epsilon, by an estimate for many instances of one pair.

        The search over many mixes is quick only where one pair is worse by far: others must be better by so much.
        """

        def worst(entries: Sequence[Entry]) -> float:
            found = sorted(estimate(pair) for entry in entries for pair in members(entry))
            slow = entries is not self and instances > _FEW_INSTANCES
            near = len(found) > 1 and (1.0 + _DISTINCT) * found[-2] > found[-1]
            return math.inf if slow and near else found[-1]

        return min((self, *self.others), key=worst)


def members(entry: Entry) -> list[PrivacyLossDistribution]:
    """Return the pairs of an entry."""
    return [entry] if isinstance(entry, PrivacyLossDistribution) else list(entry)
