"""A rehearsal: sums by their laws, orders that are uniform, and the same bytes however often it is cut off."""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpverify.audit.clients.conformance import _laws
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.query import Asked, Query
from dpverify.collection.rehearsal import _SENT, arranged, rehearse
from protocols.bitsum import Poisson, RandomizedResponse
from protocols.histogram import Histogram
from tests.collection.vectors import QUERIES, made

USERS = 2_000


@functools.cache
def plan() -> Manifest:
    return manifest(
        [
            Asked("bits", RandomizedResponse(USERS, 0.1), 3, 1_700),
            Asked("rating", Poisson(USERS, 300.0), 4, 1_700, "levels"),
            Asked("words", RandomizedResponse(USERS, 0.2), 5, 1_700, "buckets"),
            Asked("texts", RandomizedResponse(USERS, 0.2), 3, 1_700, "strings"),
            Asked("version", Histogram(Poisson(USERS, 900.0, estimate="under"), 3), 1, 1_700),
        ],
        delta="1e-6",
    )


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = hashlib.sha256()
    for path in files:
        whole.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


@pytest.mark.long
@pytest.mark.parametrize(("count", "ones"), [(6, 3), (7, 1), (70, 69)])
def test_every_order_of_bits_is_as_likely(count: int, ones: int) -> None:
    rng, seen = np.random.default_rng(1), dict[bytes, int]()
    for _ in range(20_000):
        bits = arranged(count, ones, rng)
        assert int(np.bitwise_count(bits).sum()) == ones
        assert not np.unpackbits(bits)[count:].any()
        seen[bits.tobytes()] = seen.get(bits.tobytes(), 0) + 1
    orders = math.comb(count, ones)
    assert len(seen) == orders
    assert stats.chisquare(list(seen.values())).pvalue > 1e-6


@pytest.mark.parametrize("ones", [0, 1, 2**20, 5_000_001, 9_000_000, 9_000_001])
def test_long_orders_have_exactly_as_many_ones(ones: int) -> None:
    bits = arranged(9_000_001, ones, np.random.default_rng(2))
    assert int(np.bitwise_count(bits).sum(dtype=np.int64)) == ones
    middle = int(np.bitwise_count(bits[: bits.size // 2]).sum(dtype=np.int64))
    deviation = math.sqrt(9_000_001 * ones / 9_000_001 * (1 - ones / 9_000_001)) / 2 + 1e-9
    assert abs(middle - ones / 2) <= 6.0 * deviation + 4.0


@pytest.mark.long
@pytest.mark.parametrize("name", ["rr", "nb", "poisson", "3nb", "pure", "histogram", "selection"])
def test_sums_have_the_mean_and_the_spread_of_what_users_send(name: str) -> None:
    (query,) = made(name).content["queries"]
    query = {**query, "instances": 1}
    size, runs, rng = int(query.get("buckets", 2)), 2_000, np.random.default_rng(3)
    held = np.arange(1, size + 1) * 40
    laws = [_laws(query, answer) for answer in range(size)]
    found = np.array([_SENT[query["kind"]](query, held, 0, rng) for _ in range(runs)])
    if query["kind"] == "report":
        found = found[:, 1:]
    elif "flood" in query["tables"]:
        found = found[:, 1:] - found[:, :1]
    for place, column in enumerate(found.T):
        mean = sum(number * law[place].mean for number, law in zip(held, laws, strict=True))
        variance = sum(number * law[place].variance for number, law in zip(held, laws, strict=True))
        assert abs(column.mean() - mean) <= 5.5 * math.sqrt(variance / runs)
        fourth = ((column - mean) ** 4).mean()
        assert abs(((column - mean) ** 2).mean() - variance) <= 5.5 * math.sqrt(fourth / runs)


@pytest.mark.long
def test_a_rehearsal_that_is_cut_off_ends_in_the_same_bytes(tmp_path: Path) -> None:
    whole = rehearse(plan(), tmp_path / "whole", days=2, offline=0.1, cheats=0.01)

    def stops(done: int, of: int) -> None:
        if done == of // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rehearse(plan(), tmp_path / "cut", days=2, offline=0.1, cheats=0.01, progress=stops)
    (tmp_path / "cut" / "day-1" / ".part-of a file").write_bytes(b"what a kill leaves")
    again = rehearse(plan(), tmp_path / "cut", days=2, offline=0.1, cheats=0.01, workers=2)
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")
    assert again.to_dict() == whole.to_dict()
    # Files of other arguments would be read in silence.
    for changed in ({"seed": 1}, {"users": 3_000}, {"cheats": 0.02}, {"held": {"bits": [0.5, 0.5, 0.5]}}):
        with pytest.raises(ValueError, match="must be new, or of a rehearsal with the same arguments"):
            rehearse(plan(), tmp_path / "cut", **{"days": 2, "offline": 0.1, "cheats": 0.01, **changed})
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")
    other = rehearse(plan(), tmp_path / "other", days=2, offline=0.1, cheats=0.01, seed=1)
    assert digest(tmp_path / "other") != digest(tmp_path / "whole")
    assert other.queries != whole.queries


@pytest.mark.long
def test_intervals_have_the_truth_and_cheats_move_it(tmp_path: Path) -> None:
    fair = rehearse(plan(), tmp_path / "fair", days=25, confidence=0.9)
    for row in fair.queries:
        # Of bits and levels each interval has it with .9, and of buckets at least each.
        assert stats.binom.cdf(row.covered, row.intervals, 0.9) > 1e-6, row
        assert row.alarms == 0
        assert row.rmse < row.width
    moved = rehearse(plan(), tmp_path / "moved", cheats=0.1)
    bits, rating, words, _, version = moved.queries
    assert bits.covered < bits.intervals
    assert bits.rmse == pytest.approx(200 / 0.8, rel=0.2)
    assert {row.query for row in (rating, words, version) if row.alarms} >= {"words"}


def test_what_is_held_may_be_said(tmp_path: Path) -> None:
    held = {"rating": [0, 0, 1, 0, 0], "words": [0, 1, 0, 0, 0], "version": [0.5, 0.5, 0], "bits": [1, 0, 0.5]}
    found = rehearse(plan(), tmp_path, held=held)
    (day,) = found.aggregates
    rating = next(row for row in day.estimates if row.query == "rating")
    assert abs(rating.value - 3.0) < 0.2
    assert day.most_frequent("words")[0].bucket == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["rr", "poisson"])
def test_densities_are_rehearsed_and_found_where_users_are(name: str, tmp_path: Path) -> None:
    where = Query("where", density=96, dimension=2, bandwidth="0.5", classes=2)
    bitsum = RandomizedResponse(2_000, 0.2) if name == "rr" else Poisson(2_000, 300.0)
    rows = [[0, 1.0, 0.0]] * 3 + [[1, -1.0, 0.0]]
    plan = manifest([where.asked(bitsum, 1_800)], delta="1e-6")
    found = rehearse(plan, tmp_path, days=2, offline=0.1, held={"where": rows})
    (row,) = found.queries
    assert (row.of, row.intervals, row.covered, row.alarms) == ("density", 16, 16, 0)
    assert row.rmse < 3.0 * found.aggregates[0].densities["where"].sup_rmse
    estimates = {(each.instance, each.bucket): each.value for each in found.aggregates[0].estimates}
    assert estimates[0, 0] == pytest.approx(0.75, abs=0.3)
    assert estimates[1, 3] == pytest.approx(0.25, abs=0.3)
    assert abs(estimates[1, 0]) < 0.3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"offline": 0.1, "cheats": 0.1}, "must leave the 1,700 users that the guarantee is for"),
        ({"users": 0}, "users=0"),
        ({"offline": 1.0}, "offline=1.0"),
        ({"held": {"rating": [0.5, 0.5]}}, "held of 'rating' must be 5 numbers"),
        ({"held": {"words": [0.5, 0.4, 0, 0, 0]}}, "that add up to 1"),
        ({"held": {"bits": [2, 0, 0]}}, "held of 'bits' must be 3 numbers"),
        ({"workers": 0}, "workers=0"),
        ({"users": 10**30}, f"users={10**30} must be an integer in [1, 9007199254740992]"),
    ],
)
def test_what_cannot_be_rehearsed_is_refused_at_once(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must") as raised:
        rehearse(plan(), tmp_path, **changed)
    assert message in str(raised.value)
    assert not list(tmp_path.rglob("*.batch"))


def test_queries_without_sums_are_refused(tmp_path: Path) -> None:
    for name in ("rappor", "vector-sum"):
        with pytest.raises(TypeError, match="must have queries of bits"):
            rehearse(manifest([(name, *QUERIES[name])], delta="1e-6"), tmp_path)
