"""Fisher's exact test has its level, by enumeration."""

from __future__ import annotations

import itertools

import pytest

from dpverify.statistics.bounds.fisher import fisher


@pytest.mark.parametrize("more", [False, True])
def test_the_level_is_exact_over_all_arrangements(more: bool) -> None:
    runs, all_hits, size = 9, 4, 3
    arrangements = list(itertools.combinations(range(runs), all_hits))
    p_values = [fisher(sum(place < size for place in hit), size, all_hits, runs, more=more) for hit in arrangements]
    for level in sorted(set(p_values)):
        assert sum(p <= level for p in p_values) / len(p_values) <= level * (1 + 1e-12)
    assert min(p_values) < 0.1


def test_too_few_count_unless_only_more_do() -> None:
    assert fisher(0, 50, 50, 100) < 1e-12
    assert fisher(0, 50, 50, 100, more=True) == 1.0
