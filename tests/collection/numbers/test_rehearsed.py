"""Numbers in a rehearsal: messages with the law of what clients send, intervals, and how far cheats get."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.clients.conformance import _laws
from dpverify.collection.manifest import manifest
from dpverify.collection.numbers.rehearsed import HeldNumbers, sent_messages
from dpverify.collection.query import Asked
from dpverify.collection.rehearsal import rehearse
from protocols.sums import PoissonSum
from tests.collection.vectors import QUERIES, made

ROWS: dict[str, list[Any]] = {"number": [[-1, 5], [3, 0]], "real": [[0.7], [-1.45]], "weights": [[3, 0.1], [0, 0.061]]}


@pytest.mark.parametrize("name", ROWS)
def test_messages_have_the_mean_and_the_spread_of_what_users_send(name: str) -> None:
    (query,) = made(name).content["queries"]
    rows, rng, runs = ROWS[name], np.random.default_rng(3), 2_000
    held = HeldNumbers.of(query, QUERIES[name][0], rows, 101)
    answers: list[Any] = [row[0] if name == "real" else row for row in rows]
    laws = [_laws(query, answer) for answer in answers]
    for place, each in enumerate(held.bits):
        column = np.array([sent_messages(query, each, 0, rng)[0] for _ in range(runs)])
        mean = sum(number * law[place].mean for number, law in zip((51, 50), laws, strict=True))
        variance = sum(number * law[place].variance for number, law in zip((51, 50), laws, strict=True))
        assert abs(column.mean() - mean) <= 5.5 * math.sqrt(variance / runs)
        assert abs(column.var() / variance - 1.0) <= 5.5 * math.sqrt(2.2 / runs)
        assert sent_messages(query, each, 7, rng)[0] - mean > 7 * query["levels"] - 6 * math.sqrt(variance)


@pytest.mark.parametrize("name", [*ROWS, "shares"])
def test_intervals_have_the_truth_and_cheats_move_it(name: str, tmp_path: Path) -> None:
    protocol, *asked = QUERIES[name]
    plan = manifest([Asked("q", protocol, asked[0], 1_700, *asked[2:])], delta="1e-6")
    found = rehearse(plan, tmp_path / "fair", days=20, offline=0.1, confidence=0.9)
    (row,) = found.queries
    assert (row.of, row.alarms) == ("weights" if name == "weights" else "numbers", 0)
    assert stats.binom.cdf(row.covered, row.intervals, 0.9) > 1e-6
    held = ROWS.get(name, [[1], [5]])
    given = rehearse(plan, tmp_path / "given", held={"q": held}, confidence=1 - 1e-6)
    rows = np.array(held, dtype=float)
    truth = 1_000 * rows.sum(axis=0) if name != "weights" else [61.0, 0.0, 0.0, 100.0]
    estimates = given.aggregates[0].estimates
    assert all(each.low <= true <= each.high for each, true in zip(estimates, truth, strict=True))
    assert [each.bucket for each in estimates] == ([0, 1, 2, 3] if name == "weights" else [None] * len(estimates))
    moved = rehearse(plan, tmp_path / "moved", cheats=0.1).queries[0]
    assert moved.covered == 0
    assert moved.rmse > 5.0 * row.rmse


def test_what_nobody_can_hold_is_refused() -> None:
    (query,) = made("weights").content["queries"]
    protocol = PoissonSum(2_000, 0.1, 400.0, steps=9)
    for rows, said in (
        ([[4, 0.1]], "out of range: value must be an integer"),
        ([[0, 0.2]], "out of range: each answer must be a number"),
        ([[0.5, 0.1]], "out of range"),
        ([[1, 0.1, 0.1]], r"must be rows of \[bucket, number\]"),
    ):
        with pytest.raises(ValueError, match=f"held of 'weights'.*{said}"):
            HeldNumbers.of(query, protocol, rows, 9)
