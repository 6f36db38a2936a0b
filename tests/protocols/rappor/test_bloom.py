"""The Bloom filter: the same bits everywhere, spread evenly, and nothing but text."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from protocols.rappor.bloom import BloomFilter, canonical
from tests.samples import FALSE_ALARM

STORED = [[[4, 55, 90], [74, 54, 58]], [[23, 0, 81], [69, 27, 41]]]


def test_the_bits_are_these_in_every_process() -> None:
    # Stored reports would be worthless if the hash functions ever changed.
    bloom = BloomFilter(128, 3, 2)
    assert bloom.positions(["dpverify", ""]).tolist() == STORED
    code = "from protocols.rappor.bloom import *; print(BloomFilter(128, 3, 2).positions(['dpverify', '']).tolist())"
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert run.stdout.strip() == str(STORED)


def test_bits_are_spread_evenly_and_cohorts_independent() -> None:
    bloom = BloomFilter(32, 10, 2)  # ten hash functions take two digests
    positions = bloom.positions([f"value {index}" for index in range(4000)])
    for cohort in range(2):
        for function in range(10):
            counts = np.bincount(positions[:, cohort, function], minlength=32)
            assert stats.chisquare(counts).pvalue > FALSE_ALARM / 20
    for other in (positions[:, 1, 0], positions[:, 0, 1], positions[:, 0, 8], positions[:, 0, 9]):
        agree = int((positions[:, 0, 0] == other).sum())
        assert stats.binomtest(agree, 4000, 1 / 32).pvalue > FALSE_ALARM / 4


def test_patterns_are_the_positions() -> None:
    bloom = BloomFilter(5, 3, 4)
    values = ["a", "b", "c", "d", "e", "f"]
    for pattern, places in zip(bloom.patterns(values), bloom.positions(values), strict=True):
        for bits, functions in zip(pattern, places, strict=True):
            assert np.flatnonzero(bits).tolist() == sorted(set(functions.tolist()))
    assert bloom.positions([]).shape == (0, 4, 3)


def test_texts_that_look_alike_are_one_value() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert composed != decomposed
    assert canonical("value", decomposed) == composed
    bloom = BloomFilter(64, 2)
    assert bloom.positions([composed]).tolist() == bloom.positions([decomposed]).tolist()
    # Nothing else is folded.
    assert bloom.positions(["A"]).tolist() != bloom.positions(["a"]).tolist()


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1], TypeError, "values[0]=1 must be a string."),
        (["a", None], TypeError, "values[1]=None must be a string."),
        ([b"a"], TypeError, "values[0]=b'a' must be a string."),
        (["\ud800"], ValueError, "values[0]='\\ud800' must be text that UTF-8 can encode, without lone surrogates."),
        ("abc", TypeError, "values='abc' must be a sequence of strings."),
        (7, TypeError, "values=7 must be a sequence of strings."),
    ],
)
def test_what_is_no_text_is_refused(values: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        BloomFilter(8, 2).positions(values)
    assert str(caught.value) == message
