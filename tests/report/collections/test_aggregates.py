"""The table and the figure of what batches say."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from dpverify.collection.analysis.aggregate import aggregate
from dpverify.collection.analysis.sums import Sums
from dpverify.collection.design import design
from dpverify.collection.query import Query


def test_the_largest_buckets_and_every_alarm_are_shown() -> None:
    asked = [Query("seen", bits=2), Query("rating", levels=3), Query("words", buckets=15, bitsum="rr")]
    plan = design(asked, ("1", "1e-6"), users=1_000).manifest()
    ones = {"seen": [500, 1000], "rating": [500, 400], "words": [400 + 10 * (place == 7) for place in range(15)]}
    counts = {name: np.array([[1_000 - one, one] for one in each]) for name, each in ones.items()}
    found = aggregate(plan, Sums(plan.hash, {name: np.full(len(each), 1_000) for name, each in ones.items()}, counts))
    shown = str(found).splitlines()
    rows = [" ".join(line.split()[:2]) for line in shown if line.split()[2:3] in (["bits"], ["buckets"])]
    assert rows[:3] == ["seen 0", "seen 1", "words 7"]
    assert len(rows) == 2 + 10
    assert sum(line.startswith("ALARM, ") for line in shown) == len(found.alarms) == 2
    assert any(line.startswith("words: 7 is the most frequent by its estimate, of 15 that") for line in shown)
    (rating,) = (row for row in found.estimates if row.query == "rating")
    told = str(replace(found, spent=0.12345649, estimates=(replace(rating, low=0.12346, high=0.98764),)))
    assert " 0.1234 0.9877" in " ".join(told.split())  # ends outwards
    real = replace(rating, of="vector", value=7.0, low=1.6, high=1234.4)  # of which no sum need be whole
    assert " 7 1 1,235" in " ".join(str(replace(found, estimates=(real,))).split())
    assert "The ledger has spent epsilon 0.123457 with this." in told  # at most
    for value in (-1.0, 0.25):
        one = str(replace(found, estimates=(replace(rating, value=value, low=0.0, high=0.5),)))
        assert ("Estimates are unbiased, and may be more or less than users can hold;" in one) == (value < 0.0)
    axes = found.plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()][:4] == ["seen 0", "seen 1", "rating", "words 7"]
    above = next(each for each in axes.figure.axes if each is not axes)
    assert (above.get_xlabel(), axes.get_xlabel()) == ("mean level", "share of the largest of the query")
    plt.close(axes.figure)
    alone = replace(found, estimates=(rating,)).plot()
    assert alone.figure.axes == [alone]
    assert alone.get_xlabel() == "mean level"
    for drawn in (alone, above):  # on the scale of the levels
        ends, point = (list(line.get_xdata()) for line in drawn.lines)
        assert (ends, point) == ([rating.low, rating.high], [rating.value])
    plt.close(alone.figure)


def test_where_no_true_sum_leaves_a_batch_there_is_no_interval() -> None:
    plan = design([Query("stars", number=(1, 5)), Query("seen", bits=1, bitsum="poisson")], ("3", "1e-2"), users=40)
    for count in (10**7, 0):
        users = {name: np.array([40]) for name in ("stars", "seen")}
        counts = {name: np.array([[count]]) for name in users}
        found = aggregate(plan.manifest(), Sums(plan.manifest().hash, users, counts))
        assert all(row.low > row.high for row in found.estimates)
        lines = [line.split() for line in str(found).splitlines()]
        assert [line[-2:] for line in lines if line[:1] in (["stars"], ["seen"])] == [["none", "none"]] * 2
        axes = found.plot()
        assert [len(line.get_xdata()) for line in axes.lines] == [1, 1]
        plt.close(axes.figure)
