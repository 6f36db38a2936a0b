"""The shuffler: every order of the messages, and each as likely as another."""

from __future__ import annotations

import inspect
import itertools
import math
import secrets
import tracemalloc
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpverify.collection.shuffling import Shuffler, random_order, simulated_entropy


def test_keys_that_are_drawn_again_where_two_are_equal_order_uniformly() -> None:
    """All keys of five values for three messages: 60 of 125 differ, ten for each order."""
    found = Counter[tuple[int, ...]]()
    for keys in itertools.product(range(5), repeat=3):
        drawn = iter([np.array(each, dtype=np.uint64).tobytes() for each in (keys, (0, 0, 1), (2, 0, 1))])
        order = tuple(random_order(3, lambda size, drawn=drawn: next(drawn)).tolist())
        if len(list(drawn)) == 2:  # the first keys did
            found[order] += 1
        else:
            assert order == (1, 2, 0)
    assert found == dict.fromkeys(itertools.permutations(range(3)), 10)


def orders(size: int) -> Iterator[bytes]:
    for keys in itertools.permutations(range(size)):
        yield np.array(keys, dtype=np.uint64).tobytes()


def test_parts_follow_each_other_in_a_uniformly_random_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four messages in two parts, by everything that can be drawn: each of 24 orders has probability 1/24."""
    monkeypatch.setattr(Shuffler, "parts", 2)
    law = Counter[tuple[int, ...]]()
    for drawn in itertools.product(range(2), repeat=4):
        parts = np.array(drawn, dtype=np.uint32)
        sizes = [size for size in np.bincount(parts, minlength=2).tolist() if size]
        for keys in itertools.product(*map(orders, sizes)):
            words = iter([parts.tobytes(), *keys])
            shuffler = Shuffler(tmp_path, [2], entropy=lambda size, words=words: next(words))
            shuffler.add(np.arange(4)[:, np.newaxis])
            order = tuple(np.concatenate(list(shuffler.shuffled()))[:, 0].tolist())
            law[order] += Fraction(1, 16 * math.prod(map(math.factorial, sizes)))
            assert not list(words)
    assert law == dict.fromkeys(itertools.permutations(range(4)), Fraction(1, 24))


def shuffled(folder: Path, widths: Sequence[int], pieces: Sequence[np.ndarray], **options: object) -> np.ndarray:
    folder.mkdir()
    shuffler = Shuffler(folder, widths, **options)
    for piece in pieces:
        shuffler.add(piece)
    found = np.concatenate(list(shuffler.shuffled()))
    assert not list(folder.iterdir())
    return found


def test_in_many_parts_no_message_is_lost_and_places_are_uniform(tmp_path: Path) -> None:
    """3 * 10^5 messages in 32 parts, by the operating system's entropy; false alarm 1e-6 in all."""
    count, widths = 300_000, [3, 0, 19]
    fields = np.stack([np.arange(count) % 5, np.zeros(count, dtype=np.int64), np.arange(count)], axis=1)
    shuffler = Shuffler(tmp_path, widths, memory=1 << 20)
    shuffler.add(fields)
    assert shuffler.parts == 32
    found = shuffled(tmp_path / "a", widths, np.array_split(fields, 7), memory=1 << 20)
    np.testing.assert_array_equal(found[np.argsort(found[:, 2])], fields)
    table = np.histogram2d(np.arange(count), found[:, 2], bins=20)[0]
    assert stats.chi2_contingency(table).pvalue > 5e-7
    fixed = int((found[:, 2] == np.arange(count)).sum())  # Poisson of mean 1
    assert stats.poisson.sf(fixed - 1, 1) > 5e-7


def test_it_takes_as_much_memory_as_it_says(tmp_path: Path) -> None:
    fields = np.arange(400_000)[:, np.newaxis]
    pieces = np.array_split(fields, 40)
    tracemalloc.start()
    try:
        folder = tmp_path / "a"
        folder.mkdir()
        shuffler = Shuffler(folder, [19], memory=1 << 23)
        for piece in pieces:
            shuffler.add(piece)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert sum(map(len, shuffler.shuffled())) == len(fields)
        taken = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert shuffler.parts == 4
    assert taken < (1 << 23) + (1 << 24)  # what is put in order, and a piece that is unpacked


def test_a_seed_is_a_simulation_that_can_be_repeated(tmp_path: Path) -> None:
    pieces = [np.arange(40)[:, np.newaxis]]
    first, again, other, real = (
        shuffled(tmp_path / str(place), [6], pieces, **({} if seed is None else {"entropy": simulated_entropy(seed)}))
        for place, seed in enumerate((1, 1, 2, None))
    )
    assert (first == again).all()
    assert (first != other).any()
    assert (first != real).any()  # but once in 40!
    assert inspect.signature(Shuffler).parameters["entropy"].default is secrets.token_bytes


def test_messages_without_bits_are_counted_and_too_little_memory_is_refused(tmp_path: Path) -> None:
    empty = np.zeros((7, 0), dtype=np.int64)
    assert shuffled(tmp_path / "a", [], [empty, empty]).shape == (14, 0)
    assert (
        shuffled(tmp_path / "b", [3], [np.zeros((0, 1), dtype=np.int64)] * 2 + [np.ones((1, 1), dtype=np.int64)]) == 1
    )
    with pytest.raises(ValueError, match=r"^memory=1000 must be "):
        Shuffler(tmp_path, [1], memory=1000)
