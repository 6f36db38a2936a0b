"""Estimates say what users hold, are paid for first, and an alarm tells of what no honest users send."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.collection.analysis.aggregate import Aggregate, _cost, _Counted, _kept, _paid, aggregate
from dpverify.collection.analysis.intervals import Tails, sum_law
from dpverify.collection.analysis.sums import Reader, Sums
from dpverify.collection.client import cell
from dpverify.collection.design import Design, design
from dpverify.collection.manifest import Manifest, manifest
from dpverify.collection.query import Asked, Query
from dpverify.collection.rotations.turned import planned
from dpverify.guarantee import Interval
from dpverify.spending.ledger import BudgetExceededError, PrivacyLedger
from protocols.bitsum import NegativeBinomial, Poisson, RandomizedResponse, ThreeNB
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.selection import Selection
from protocols.vector_sum import VectorSum
from tests.collection.analysis.collected import messages, write
from tests.refusals import refused

USERS, PRESENT = 3_000, 2_700
FEW, THERE = 400, 360


@functools.cache
def asked() -> Design:
    """Return the three queries that most tests are about."""
    return design(
        [Query("features", bits=3), Query("rating", levels=5), Query("words", buckets=20, bitsum="poisson")],
        [(("1", "1e-6"), 1), (("2", "1e-6"), 7)],
        users=USERS,
        honest=PRESENT,
    )


@functools.cache
def plan() -> Manifest:
    return asked().manifest()


@functools.cache
def other() -> Manifest:
    """Return a collection of the other protocols."""
    return manifest(
        [
            ("sum", NegativeBinomial(FEW, 900.0, 0.5, estimate="under"), 1, THERE),
            ("flood", ThreeNB(FEW, 0.9, 9.0, 0.5), 1, THERE),
            ("places", Histogram(Poisson(FEW, 900.0, estimate="under"), 4), 2, THERE),
            ("best", Selection(Poisson(FEW, 900.0, estimate="under"), 4), 1, THERE),
        ],
        delta="1e-3",
    )


def made(plan: Manifest, counts: Mapping[str, NDArray[np.int64]], users: int = PRESENT) -> Sums:
    """Return sums with these counts by query, shape (instances, symbols)."""
    there = {name: np.full(len(each), users) for name, each in counts.items()}
    return Sums(plan.hash, there, counts)


def drawn(plan: Manifest, ones: Mapping[str, list[int]], rng: np.random.Generator, users: int = PRESENT) -> Sums:
    """Return the sums of one batch by the protocols' laws, where so many users have a one in each instance."""
    found = {}
    for name, protocol in {each.name: each.protocol for each in asked().asked}.items():
        if name in ones:
            found[name] = protocol.sample_view(np.array(ones[name]), rng, participants=users)
    return made(plan, found, users)


TRUE = {"features": [0, 27, 2_000], "rating": [2_700, 2_000, 1_500, 100], "words": [700, 2_000] + [0] * 18}


def right(found: Aggregate) -> list[bool]:
    """Return of which rows the interval holds the truth."""
    held = dict.fromkeys(found.estimates)
    for row in held:
        place = row.instance if row.bucket is None else row.bucket
        true = 1 + sum(TRUE["rating"]) / PRESENT if place is None else TRUE[row.query][place]
        held[row] = row.low <= true <= row.high
    return [bool(each) for each in held.values()]


@pytest.mark.long
def test_intervals_hold_the_truth_and_no_alarm_is_raised() -> None:
    rng, runs = np.random.default_rng(1), 30
    found = [aggregate(plan(), drawn(plan(), TRUE, rng)) for _ in range(runs)]
    assert [run.alarms for run in found] == [()] * runs
    seen = np.array([right(run) for run in found])
    # Features and a mean at .95 each; of 20 words all at once. So many runs, 6 sigma below.
    least = 0.95 - 6 * np.sqrt(0.95 * 0.05 / runs)
    assert (seen[:, :4].mean(axis=0) > least).all()
    assert seen[:, 4:].all(axis=1).mean() > least
    widths = [row.high - row.low for row in found[0].estimates]
    for row, width in zip(found[0].estimates, widths, strict=True):
        deviation = next(each.rmse for each in asked().queries if each.query.name == row.query)
        assert width < {"rating": 0.01 * 20}.get(row.query, 2 * deviation * (2.1 if row.query == "features" else 3.4))
    first, others = found[0].most_frequent("words")
    assert (first.bucket, others) == (1, (1,))
    with pytest.raises(ValueError, match="buckets"):
        found[0].most_frequent("rating")


STRINGS = manifest(
    [Asked(name, Poisson(FEW, 900.0), 8, THERE, "strings") for name in ("words", "words again")], delta="1e-3"
)


def test_strings_are_counted_in_their_cells_and_none_is_said_to_have_more_users_than_its_cells_leave(
    tmp_path: Path,
) -> None:
    held = ["red"] * 200 + ["blue"] * 100 + ["e\u0301"] * 60  # the last as two characters
    answers = dict.fromkeys(("words", "words again"), held)
    write(STRINGS, tmp_path / "batch", messages(STRINGS, answers, np.random.default_rng(3)), THERE, "Monday")
    sums = Reader(STRINGS.data, STRINGS.hash).files([tmp_path / "batch"])
    known = ["red", "blue", "\u00e9", "of nobody"]
    found = aggregate(STRINGS, sums, confidence=1 - 1e-6, candidates=[*known, "red"])
    assert found.alarms == ()
    assert len(found.estimates) == 16
    places = {name: [cell({"name": name, "instances": 8}, text) for text in [*known, *held]] for name in answers}
    for row in found.estimates:
        asked = places[row.query]
        assert row.low <= sum(place == row.bucket for place in asked[4:]) <= row.high
        assert row.strings == tuple(text for text, place in zip(known, asked, strict=False) if place == row.bucket)
    for text, true in zip(known, (200, 100, 60, 0), strict=True):
        most = found.string(text, ["words", "words again"])
        assert (most.low, most.strings) == (0.0, (text,))
        rows = [row for row in found.estimates if row.bucket == places[row.query][known.index(text)]]
        assert true <= most.high == min(row.high for row in rows)
    assert found.most_frequent("words")[0].bucket == places["words"][0]
    assert "'red'" in str(found)
    for text, queries, said in (("red", [], "at least one"), ("red", ["other"], "strings")):
        with pytest.raises(ValueError, match=said):
            found.string(text, queries)


def test_real_clients_batches_are_read(tmp_path: Path) -> None:
    held = {
        "sum": [user % 3 == 0 for user in range(THERE)],
        "flood": [user % 2 for user in range(THERE)],
        "places": [[user % 4, 3] for user in range(THERE)],
        "best": [1] * THERE,
    }
    write(other(), tmp_path / "batch", messages(other(), held, np.random.default_rng(6)), THERE, "Monday")
    sums = Reader(other().data, other().hash).files([tmp_path / "batch"])
    found = aggregate(other(), sums, confidence=1 - 1e-6)
    assert (found.alarms, found.batches, dict(found.users)) == ((), ("Monday",), dict.fromkeys(held, THERE))
    true = [120, 180, 90, 90, 90, 90, 0, 0, 0, THERE, 0, THERE, 0, 0]
    assert [row.low <= value <= row.high for row, value in zip(found.estimates, true, strict=True)] == [True] * 14
    assert found.most_frequent("best")[0].bucket == 1
    text = str(found)
    assert "Monday: 360 users" in text
    assert "No alarm" in text


@pytest.mark.long
def test_real_clients_points_become_a_density(tmp_path: Path) -> None:
    where = Query("where", density=200, dimension=2, bandwidth="0.5", classes=2)
    plan = manifest([where.asked(Poisson(THERE, 40.0), THERE)], delta="1e-2")
    points = [[user % 2, [0.9 * (-1) ** user, 0.25]] for user in range(THERE)]
    write(plan, tmp_path / "batch", messages(plan, {"where": points}, np.random.default_rng(6)), THERE, "Monday")
    sums = Reader(plan.data, plan.hash).files([tmp_path / "batch"])
    at = np.array([[0.9, 0.25], [-0.9, 0.25], [0.0, 0.0]])
    found = aggregate(plan, sums, points={"where": at})
    density = found.densities["where"]
    assert (found.alarms, density.predict(at[:2]).tolist()) == ((), [0, 1])
    assert [row.value for row in found.estimates] == density(at).T.ravel().tolist()
    far = np.exp(-4.0 * np.array([0.0, 1.8**2, 0.9**2 + 0.25**2]))
    true = [*(far / 2), *(far[[1, 0, 2]] / 2)]
    assert max(abs(row.value - value) for row, value in zip(found.estimates, true, strict=True)) < 4 * density.sup_rmse
    assert all(row.low <= value <= row.high for row, value in zip(found.estimates, true, strict=True))
    assert "where: a density, 2 classes, 200 waves; it errs by 0.0" in str(found)
    assert "where at point 2, class 1" in str(found)
    assert "it errs by 0.0" in str(aggregate(plan, sums))
    for name in ("wher", "x"):
        with pytest.raises(ValueError, match="must be of densities that sums have"):
            aggregate(plan, sums, points={name: at})


def test_labels_and_vectors_have_intervals(tmp_path: Path) -> None:
    labels = manifest([Asked("l", LabelRandomizedResponse(3, 1.5), 1)], delta=0)
    vectors = manifest([Asked("v", VectorSum(THERE, 4, 3, 0.2, stratified=True, sampled=2), 1)], delta="1e-3")
    turned = manifest([Query("u", vector=4).asked(planned(THERE, 4, 60.0), None)], delta="1e-3")
    held = {"l": [user % 4 // 2 for user in range(THERE)], "v": [[0.5, user % 2, 0.0, 1.0] for user in range(THERE)]}
    held["u"] = [[0.5, user % 2 * 0.6, 0.0, 0.6] for user in range(THERE)]
    true = {"l": [THERE / 2, THERE / 2, 0], "v": [THERE / 2, THERE / 2, 0, THERE]}
    true["u"] = [THERE / 2, 0.3 * THERE, 0, 0.6 * THERE]
    for name, plan in (("l", labels), ("v", vectors), ("u", turned)):
        sent = messages(plan, held, np.random.default_rng(7))
        write(plan, tmp_path / name, sent, THERE, "Monday")
        sums = Reader(plan.data, plan.hash).files([tmp_path / name])
        found = aggregate(plan, sums, confidence=1 - 1e-4)
        assert found.alarms == ()
        for row, value in zip(found.estimates, true[name], strict=True):
            assert max(row.low, 1) <= max(value, 1) <= row.high < row.low + 0.9 * THERE
            assert row.low <= min(max(row.value, 0), THERE) <= row.high or name == "u"
        # All reports of one label, or of one coordinate, are what nobody's answers make.
        counts = np.zeros_like(sums.counts[name])
        counts[0, 0] = sums.counts[name].sum()
        assert aggregate(plan, made(plan, {name: counts}, THERE)).alarms


def test_what_is_paid_is_what_one_user_may_change_once_for_each_batch() -> None:
    ledger, words = Recorded(), Asked("words", Poisson(FEW, 900.0), 20, THERE, "buckets")
    each: Any = SimpleNamespace(asked=words)
    sums = Sums("0", {"words": np.array([THERE])}, {"words": np.array([[1]])}, frozenset({("Monday", "words", 0)}))
    for one, times in ((sums, 1), (sums, 1), (dataclasses.replace(sums, files=frozenset()), 3)):
        _paid(ledger, [each], one)
        _paid(ledger, [each], one)
        assert ledger.runs == [[(words.protocol, 2, THERE)]] * times


class Recorded(PrivacyLedger):
    """A ledger that notes what is spent and accounts for nothing."""

    def __init__(self) -> None:
        self.runs, self.labels = list[Any](), list[tuple[str, Any]]()

    def spent(self) -> Any:
        return SimpleNamespace(days=self.labels, epsilon=Interval(0.0, 1.0))

    def spend_all(self, runs: Any, *, label: str = "") -> Any:
        self.runs.append(runs)
        self.labels.append((label, None))
        return self.spent()


def test_draws_of_clients_are_charged_to_every_level() -> None:
    each = _Counted(Asked("q", RandomizedResponse(100, 0.25), 3, 50), 100, np.zeros((3, 1), dtype=np.int64), 50, False)
    off, rounded = Fraction(1, 1000) * 300 / 50, Fraction(300, 2**128)
    assert _cost(Fraction(1, 1000), each) == (off, rounded)
    assert _kept(0.05, Fraction(1, 1000), each) == float((1 - off) * Fraction(0.05) - rounded)
    assert _kept(1e-35, Fraction(0), each) == float(Fraction(1e-35) - rounded) < 0.99e-35
    assert _kept(1e-40, Fraction(0), each) == 0.0


@pytest.mark.long
def test_what_is_told_was_paid_before(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    days = [
        dataclasses.replace(drawn(plan(), TRUE, rng), files=frozenset((day, name, 0) for name in TRUE))
        for day in ("Monday", "Tuesday")
    ]
    epsilon = plan().guarantees[0]["epsilon"]
    ledger = PrivacyLedger.create(tmp_path / "ledger.jsonl", (epsilon, "1e-6"))
    found = aggregate(plan(), days[0], ledger=ledger)
    assert found.spent is not None
    assert 0.99 * float(epsilon) < found.spent <= float(epsilon)
    # Once more: nothing new is told, and nothing is spent. Another day is refused, whatever it holds.
    assert aggregate(plan(), days[0], ledger=ledger).spent == found.spent
    with pytest.raises(BudgetExceededError):
        aggregate(plan(), days[1], ledger=ledger)
    lines = (tmp_path / "ledger.jsonl").read_text()
    # Two days in one would be paid for as one; and what has no batch may be another day's.
    with pytest.raises(ValueError, match=r"^sums of features must be of one batch, and are of 2: Monday, Tuesday\.$"):
        aggregate(plan(), days[0] + days[1], ledger=ledger)
    with pytest.raises(BudgetExceededError):
        aggregate(plan(), dataclasses.replace(days[0], files=frozenset()), ledger=ledger)
    with pytest.raises(ValueError, match="must be at least the 2700"):
        aggregate(plan(), made(plan(), days[0].counts, 100), ledger=ledger)
    # Candidates that are none are refused before they are paid for.
    words = made(STRINGS, {"words": np.full((8, 1), THERE)}, THERE)
    for candidates, kind in (["\ud800"], ValueError), ("red", TypeError):
        with pytest.raises(kind, match="string"):
            aggregate(STRINGS, words, ledger=ledger, candidates=candidates)
    assert (tmp_path / "ledger.jsonl").read_text() == lines


def test_an_alarm_tells_what_no_true_sum_leaves() -> None:
    rng = np.random.default_rng(3)
    fine = drawn(plan(), TRUE, rng).counts
    p = asked().asked[0].protocol.flip_probability
    cheated = {
        # Users who do not flip their ones: more than any true sum leaves by six deviations.
        "features": np.array([[0, 0, int(PRESENT * (1 - p) + 6 * np.sqrt(PRESENT * p * (1 - p)))]] * 2).T,
        "words": fine["words"] + np.array([[0], *[[400]] * 19]),
    }
    cheated["features"][:, 0] = PRESENT - cheated["features"][:, 1]
    cheated["features"] = np.stack([fine["features"][0], fine["features"][1], cheated["features"][2]])
    said = aggregate(plan(), made(plan(), {**fine, **cheated})).alarms
    assert [alarm.query for alarm in said] == ["features", "words"]
    assert "1 of 3 counts" in said[0].reason
    assert "all buckets together" in said[1].reason
    many = {name: each * 2 for name, each in fine.items()}
    told = aggregate(plan(), made(plan(), many, 2 * PRESENT)).alarms
    assert [alarm.reason for alarm in told] == ["5,400 users took part, but there are 3,000."] * 3
    none = {**fine, "features": fine["features"] - [[1, 0]] * 3}
    assert "cannot have sent" in aggregate(plan(), made(plan(), none)).alarms[0].reason


def test_the_level_of_an_alarm_is_that_of_all_counts_together() -> None:
    """Four counts, and one more test a run: at either side of each a tenth of a fifth, less what clients cost."""
    protocol = RandomizedResponse(500, 0.25)
    plan = manifest([("a", protocol, 2), ("b", protocol, 2)], delta="1e-3")
    low, high = Tails(sum_law(protocol, 500), 0.2 / 8 / 2 * (1 - 1e-12)).possible
    for count, told in ((low, 0), (low - 1, 1), (high, 0), (high + 1, 1)):
        counts = {"a": np.array([[500 - count, count], [250, 250]]), "b": np.array([[250, 250]] * 2)}
        assert len(aggregate(plan, made(plan, counts, 500), level=0.2).alarms) == told


def test_what_cannot_be_told_is_refused() -> None:
    fine = drawn(plan(), TRUE, np.random.default_rng(5))
    for sums, argument in (
        (dataclasses.replace(fine, manifest="0" * 64), "manifest"),
        (Sums(plan().hash, {}, {}), "sums"),
        (dataclasses.replace(fine, users={**fine.users, "features": np.array([2_700, 0, 2_700])}), "sums of features"),
        (dataclasses.replace(fine, users={**fine.users, "features": np.full(3, 2_699)}), "users=2699 of features"),
        (
            dataclasses.replace(fine, files=frozenset((day, "features", 0) for day in "MT")),
            "sums of features",
        ),
    ):
        with pytest.raises(ValueError, match=rf"^{argument}.* must .*\.$"):
            aggregate(plan(), sums)
    with pytest.raises(ValueError, match="confidence"):
        aggregate(plan(), fine, confidence=1.0)


def test_a_level_that_leaves_no_tails_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    fine = drawn(plan(), TRUE, np.random.default_rng(5))
    ledger = PrivacyLedger.create(tmp_path / "ledger.jsonl", ("9", "1e-3"))
    for option in ({"level": 1e-320}, {"confidence": 1 - 2**-53}):
        with refused(*option):
            aggregate(plan(), fine, ledger=ledger, **option)
    assert ledger.spent().runs == 0


def test_labels_without_users_who_are_counted_on_are_anything() -> None:
    labels = manifest([Asked("l", LabelRandomizedResponse(3, 1.0), 1)], delta=0)
    found = aggregate(labels, made(labels, {"l": np.array([[1, 2, 3]])}, 6))
    assert [(row.of, row.bucket, row.low, row.high) for row in found.estimates] == [
        ("buckets", place, 0, 6) for place in range(3)
    ]
