"""What is true of `protocols.rappor.bloom`: in how many bits the patterns of two values differ.

Reports on a value depend on it through its pattern, bit by bit, so all that matters of two values is how many bits only
the first sets, a, and how many only the second, b: a `Split`. More bits of either kind are only worse, as leaving
reported bits out is post-processing.

**Any two values.** A pattern has 1 to h bits. Two that share none have a, b in [1, h] and a + b <= k; two that share
one a, b <= h - 1 and a + b <= k - 1. If k >= 2h, (h, h) covers both cases. Else, and with k >= 2, there is a whole
number a' from max(a, 1, k-h) to min(k-b, h, k-1), each of the former being at most each of the latter, and (a', k-a')
covers (a, b). It is attained, by two patterns that share no bit and fill the filter. If k = 1, its one bit is always
set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from protocols.rappor.bloom import BloomFilter

__all__ = ["Split", "largest", "splits", "splits_of"]


class Split(NamedTuple):
    """How many bits only the first of two patterns has, and only the second."""

    lost: int
    gained: int


def splits(bloom: BloomFilter) -> tuple[Split, ...]:
    """Return splits that some hash functions give two values, and that cover those of any hash functions."""
    bits, hashes = bloom.bits, bloom.hashes
    if bits == 1:
        return (Split(0, 0),)
    differing = min(2 * hashes, bits)
    firsts = range(max(1, differing - hashes), min(hashes, differing - 1) + 1)
    return tuple(Split(lost, differing - lost) for lost in firsts)


def splits_of(bloom: BloomFilter, values: Sequence[str]) -> tuple[Split, ...]:
    """Return the splits of these values, over all cohorts and ordered pairs, that no other one of them covers.

    - bloom: With its hash functions.
    - values: At least two strings.

    Raises TypeError if a value is no string. Raises ValueError if there are fewer than two, or one is no text.
    """
    if len(values) < 2:
        raise ValueError(f"values has {len(values)} strings, but must have at least two.")
    found: set[Split] = set()
    for cohort in np.moveaxis(bloom.patterns(values), 1, 0):
        rows = cohort.astype(np.float32)  # whose products are fast, and exact up to 2^24 bits
        common = (rows @ rows.T).astype(np.int64)
        sizes = np.diagonal(common)
        pairs = np.stack([sizes[:, np.newaxis] - common, sizes - common], axis=-1).reshape(-1, 2)
        found.update(Split(*map(int, pair)) for pair in np.unique(pairs, axis=0))
    return largest(found)


def largest(found: Iterable[Split]) -> tuple[Split, ...]:
    """Return the splits that no other one covers, in order."""
    every = set(found)
    covered = {
        one
        for one in every
        for other in every
        if one != other and one.lost <= other.lost and one.gained <= other.gained
    }
    return tuple(sorted(every - covered))
