"""Vectors in a rehearsal: messages with the law of what clients send, estimates, and how far cheats get."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.clients.conformance import _laws
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Query
from dpverify.collection.rehearsal import rehearse
from dpverify.collection.rotations.rehearsed import HeldVectors, sent_counts
from dpverify.collection.rotations.turned import planned
from tests.collection.vectors import made

ROWS = [[1.0, 0, 0, 0, 0], [-0.3, 0.2, 0.5, 0.0, -0.7]]


def test_counts_have_the_mean_and_the_spread_of_what_users_send() -> None:
    (query,) = made("unary").content["queries"]
    turned = Query("unary", vector=5).asked(planned(2_000, 5, 40.0), None).turned
    assert turned is not None
    turned = type(turned)(query["signs"], turned.protocol)
    (held,) = HeldVectors.of("v", turned, ROWS, 101).bits
    laws, rng, runs = [_laws(query, answer) for answer in ROWS], np.random.default_rng(3), 2_000
    found = np.array([sent_counts(query, held, 0, rng) for _ in range(runs)])
    for place, column in enumerate(found.T):
        mean = sum(number * law[place].mean for number, law in zip((51, 50), laws, strict=True))
        variance = sum(number * law[place].variance for number, law in zip((51, 50), laws, strict=True))
        assert abs(column.mean() - mean) <= 5.5 * math.sqrt(variance / runs)
        fourth = ((column - mean) ** 4).mean()
        assert abs(((column - mean) ** 2).mean() - variance) <= 5.5 * math.sqrt(fourth / runs)
    # A cheat sends as much as is let in, all of it for the first coordinate.
    more = sent_counts(query, held, 3, np.random.default_rng(1)) - sent_counts(query, held, 0, np.random.default_rng(1))
    most = query["most"] + len(query["tables"]["noise"])
    assert more.sum() == 3 * min(query["messages"], 8 * most)
    assert more.max() == 3 * most
    assert turned.back(more[::2] - more[1::2])[0] == pytest.approx(turned.weight * more.sum())


def test_intervals_have_the_truth_and_cheats_move_it(tmp_path: Path) -> None:
    plan = manifest([Query("v", vector=5).asked(planned(2_000, 5, 60.0), 1_700)], delta="1e-6")
    found = rehearse(plan, tmp_path / "fair", days=30, offline=0.1, confidence=0.8)
    (row,) = found.queries
    assert (row.of, row.intervals, row.alarms) == ("vector", 150, 0)
    assert stats.binom.cdf(row.covered, row.intervals, 0.8) > 1e-6
    assert 0.7 < row.rmse * math.sqrt(5) / 60.0 < 1.1  # at most 60, as a norm
    given = rehearse(plan, tmp_path / "given", held={"v": ROWS}, confidence=1 - 1e-6)
    truth = 1_000 * np.sum(ROWS, axis=0)
    assert all(r.low <= each <= r.high for r, each in zip(given.aggregates[0].estimates, truth, strict=True))
    moved = rehearse(plan, tmp_path / "moved", cheats=0.1)
    assert moved.queries[0].covered == 0
    assert moved.queries[0].rmse > 5.0 * row.rmse


@pytest.mark.parametrize("given", [[], [[1.0]], [[1.0, 1.0, 0, 0, 0]], [[math.nan] * 5]])
def test_what_nobody_can_hold_is_refused(given: Any) -> None:
    turned = Query("v", vector=5).asked(planned(2_000, 5, 60.0), None).turned
    assert turned is not None
    with pytest.raises(ValueError, match="held of 'v'"):
        HeldVectors.of("v", turned, given, 5)
