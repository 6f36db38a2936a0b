"""Intervals of RAPPOR's strings, by the exact law of all reports of few users, whatever candidates they hold."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.collection.analysis.aggregate import aggregate
from dpverify.collection.analysis.strings import (
    _Candidates,
    bit_counts,
    candidate_moves,
    candidate_rows,
    named_cells,
    strange_strings,
)
from dpverify.collection.analysis.sums import Reader
from dpverify.collection.batches import Batches
from dpverify.collection.client import cell
from dpverify.collection.manifest import manifest
from dpverify.collection.query import Asked
from protocols.bitsum import RandomizedResponse
from protocols.rappor.decoder import BitCounts, decode
from protocols.rappor.response import Rappor

SMALL = Rappor(3, 1, cohorts=2, f=0.2, p=0.1, q=0.95)
TWICE = Rappor(3, 2, cohorts=2, f=0.2, p=0.1, q=0.95)
TEXTS = {SMALL: ["a", "b"], TWICE: ["a", "c"]}


def laws(mechanism: Rappor, texts: list[str], weights: NDArray[np.float64]) -> list[dict[float, float]]:
    """Return the law of a user's number for each candidate: of every cohort and report, from its definition."""
    zero, one = mechanism.report_probabilities
    patterns = mechanism.filter.patterns(texts)
    found = []
    for held in range(len(texts)):
        law = dict[float, float]()
        for cohort, report in itertools.product(range(mechanism.cohorts), itertools.product((0, 1), repeat=3)):
            chances = np.where(patterns[held, cohort], one, zero)
            chance = float(np.prod(np.where(report, chances, 1.0 - chances))) / mechanism.cohorts
            y = round(float(weights[cohort] @ (np.array(report) - zero)) / (one - zero), 9)
            law[y] = law.get(y, 0.0) + chance
        found.append(law)
    return found


def added(a: dict[float, float], b: dict[float, float]) -> dict[float, float]:
    found = dict[float, float]()
    for (x, p), (y, q) in itertools.product(a.items(), b.items()):
        found[round(x + y, 9)] = found.get(round(x + y, 9), 0.0) + p * q
    return found


@pytest.mark.parametrize("mechanism", [SMALL, TWICE], ids=["one function", "two functions"])
def test_whatever_candidates_users_hold_each_end_misses_as_rarely_as_it_says(mechanism: Rappor) -> None:
    texts, users, side, worst = TEXTS[mechanism], 5, 0.1, 0.0
    known = _Candidates(mechanism, texts)
    for at in range(len(texts)):
        each = laws(mechanism, texts, known.weights[at])
        for held, law in enumerate(each):
            assert sum(y * chance for y, chance in law.items()) == pytest.approx(float(held == at), abs=1e-7)
            logs = known.logs(known.weights[at], np.array([0.3, -0.7]))
            for s, log in zip((0.3, -0.7), logs[:, held], strict=True):
                assert log == pytest.approx(
                    math.log(sum(chance * math.exp(s * y) for y, chance in law.items())), abs=1e-8
                )
        told = known.ends(at, users, -math.log(side))
        for true in range(users + 1):
            law = {0.0: 1.0}
            for place in [at] * true + [1 - at] * (users - true):
                law = added(law, each[place])
            ends = {value: told(value) for value in law}
            low = sum(chance for value, chance in law.items() if ends[value][0] > true)
            high = sum(chance for value, chance in law.items() if ends[value][1] < true)
            assert max(low, high) <= side
            worst = max(worst, low, high)
    assert worst > 0.01


def test_a_number_is_refuted_only_where_it_is_for_whatever_others_hold() -> None:
    """Every number of holders, tilt and other candidate, by the inequality itself."""
    mechanism, texts, users, log = Rappor(6, 2, cohorts=3, f=0.2, p=0.1, q=0.9), ["a", "b", "c", "d"], 40, 3.0
    known = _Candidates(mechanism, texts)
    for at in range(4):
        told, tilts = known.ends(at, users, log), known.tilts(known.weights[at], users, log)
        logs = known.logs(known.weights[at], np.concatenate([tilts, -tilts]))
        for value in np.linspace(-15.0, 55.0, 29):
            kept = [
                true
                for true in range(users + 1)
                if all(
                    max(true * row[at] + (users - true) * row[w] for w in range(4) if w != at) - s * value >= -log
                    for s, row in zip([*tilts, *-tilts], logs, strict=True)
                )
            ]
            low, high = told(float(value))
            assert kept == list(range(low, high + 1))


def test_it_is_as_wide_as_the_tails_of_many_reports_and_tells_the_decoder_s_number() -> None:
    mechanism, rng = Rappor(64, 2, cohorts=16, f=0.5, p=0.4, q=0.75), np.random.default_rng(1)
    values = {f"word {i}": 30_000 // (i + 1) for i in range(12)}
    counts = BitCounts.sample(mechanism, values, rng)
    rows, decoded = candidate_rows(counts, list(values), 12 * 0.025), decode(counts, list(values))
    for (value, low, high, _), deviation, true in zip(rows, decoded.deviations, values.values(), strict=True):
        assert low <= true <= high
        assert (high - value) / deviation == pytest.approx(math.sqrt(2.0 * math.log(40.0)), rel=0.1)
    assert strange_strings(counts, list(values), 1e-6) == []
    other = BitCounts.sample(mechanism, {**values, "unlisted": 60_000}, rng)
    assert strange_strings(other, list(values), 1e-6)[0].startswith("the candidates are those of ")
    bare = BitCounts.sample(Rappor(64, 2, cohorts=16, f=0.1, p=0.01, q=0.99), values, rng)  # who flip too rarely
    assert strange_strings(BitCounts(mechanism, bare.users, bare.ones), list(values), 1e-6) != []
    assert candidate_rows(BitCounts.sample(mechanism, {"a": 500}, rng), ["a"], 0.1)[0][2] == 500


def test_cells_of_each_query_are_named_by_its_own_hash() -> None:
    asked = [Asked(name, RandomizedResponse(9, 0.25), 64, None, "strings") for name in "ab"]
    found = named_cells([*asked, Asked("c", RandomizedResponse(9, 0.25), 64)], ["red", "blue", "red"])
    places = {(name, cell({"name": name, "instances": 64}, text)): [text] for name in "ab" for text in ("red", "blue")}
    assert found == places
    assert len(places) == len({at for _, at in places}) == 4
    with pytest.raises(TypeError, match="must be a sequence of strings, not one"):
        named_cells(asked, "red")


def test_real_reports_are_counted_and_told(tmp_path: Path) -> None:
    mechanism, rng = Rappor(16, 2, cohorts=4, f=0.2, p=0.2, q=0.8), np.random.default_rng(2)
    plan = manifest([("words", mechanism)], delta=0)
    held = ["red"] * 600 + ["e\u0301"] * 300 + ["blue"] * 100
    sent = mechanism.randomize(held, rng)
    rows = np.column_stack([sent.cohorts, sent.bits[:, 0]])[rng.permutation(1_000)]
    Batches(plan.data, plan.hash).write(
        tmp_path / "0.batch", [rows], batch="Monday", query=0, instance=0, users=1_000, count=1_000
    )
    reader = Reader(plan.data, plan.hash)
    sums = reader.files([tmp_path])
    counts = bit_counts(mechanism, sums.counts["words"][0])
    wanted = BitCounts.of(mechanism, sent.cohorts, sent.bits[:, 0])
    assert (counts.users == wanted.users).all()
    assert (counts.ones == wanted.ones).all()
    assert (reader.json(sums.to_json()).counts["words"] == sums.counts["words"]).all()
    found = aggregate(plan, sums, candidates=["red", "\u00e9", "red", "blue", "green"])
    assert [row.strings for row in found.estimates] == [("red",), ("\u00e9",), ("blue",), ("green",)]
    for row, true in zip(found.estimates, (600, 300, 100, 0), strict=True):
        assert row.of == "rappor"
        assert row.low <= true <= row.high < row.low + 500
    assert found.alarms == ()
    assert "words 'red'" in str(found)
    assert aggregate(plan, sums).estimates == ()
    single = candidate_rows(counts, ["red", "\u00e9", "blue", "green"], 0.025)[0]
    assert (found.estimates[0].low, found.estimates[0].high) == single[1:3]  # all candidates share the level
    for some in (["red", "blue"], ["green", "yellow"]):  # of which some users hold none
        assert [alarm.query for alarm in aggregate(plan, sums, candidates=some, level=1e-3).alarms] == ["words"]
    with pytest.raises(ValueError, match="combinations"):
        aggregate(plan, sums, candidates=[str(number) for number in range(65)])


@pytest.mark.parametrize("mechanism", TEXTS, ids=repr)
def test_no_report_of_any_cohort_moves_a_candidate_by_more(mechanism: Rappor) -> None:
    texts = TEXTS[mechanism]
    reports = [
        BitCounts.of(mechanism, [cohort], [report])
        for cohort, report in itertools.product(range(2), itertools.product((0, 1), repeat=3))
    ]
    for at, (least, most) in enumerate(candidate_moves(mechanism, texts)):
        moved = [candidate_rows(counts, texts, 0.1)[at][0] for counts in reports]
        assert (min(moved), max(moved)) == pytest.approx((least, most))
    with pytest.raises(TypeError):
        candidate_moves(mechanism, "a")
