"""Designs keep every budget by an account of their own, and none with noticeably less noise would."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpverify.collection.design import design
from dpverify.collection.manifest import asked_in, recomputed
from dpverify.collection.query import Query
from dpverify.planning.account import account
from dpverify.planning.certificate import checker


@pytest.mark.long
def test_weights_divide_the_errors() -> None:
    found = design([Query("a", bits=3, weight=5), Query("b", buckets=9)], ("1", "1e-6"), users=5_000)
    a, b = found.queries
    assert 5.0 * a.relative_error == pytest.approx(b.relative_error, rel=1e-9)


@pytest.mark.parametrize(("users", "weight"), [(10**6, "1e-9"), (10**6, Fraction(1, 3)), (10**6, "1/3"), (10**15, 1)])
def test_neither_weight_nor_users_make_the_noise_of_one_query_larger(users: int, weight: object) -> None:
    """Poisson noise does not know how many users there are, and one query's weight compares it with nothing."""
    found = design([Query("a", bits=1, weight=weight, bitsum="poisson")], ("1", "1e-6"), users=users)  # type: ignore[arg-type]
    plain = design([Query("a", bits=1, bitsum="poisson")], ("1", "1e-6"), users=1_000)
    assert found.queries[0].rmse == pytest.approx(plain.queries[0].rmse, rel=2e-4)


@pytest.mark.long
@pytest.mark.parametrize(
    ("queries", "users", "budgets", "honest"),
    [
        ([Query("a", levels=3), Query("b", buckets=4, weight=3)], 60, [(("1", "1e-3"), 1), (("1.5", "1e-2"), 4)], 41),
        ([Query("a", bits=1, bitsum="poisson")], 900, [(("0.3", "1e-9"), 1), (("0.4", "1e-9"), 12)], None),
        ([Query("a", bits=2), Query("b", buckets=7, bitsum="poisson")], 3_000, [(("4", "1e-5"), 2)], "0.5"),
        ([Query("a", vector=4), Query("b", bits=2)], 2_000, [(("1", "1e-5"), 1), (("1.2", "1e-5"), 2)], "0.9"),
    ],
)
def test_every_budget_is_kept(queries: list[Query], users: int, budgets: object, honest: object) -> None:
    found = design(queries, budgets, users=users, honest=honest)  # type: ignore[arg-type]
    for limit in found.limits:
        spent = account(found.days(limit.days), delta=limit.budget.delta, relative_width=1e-3).epsilon
        assert spent.lower <= limit.guarantee.epsilon <= limit.budget.epsilon
        # Nobody's answers change more sums than that, as test_query counts them.
        assert limit.changed == sum(day.instances for day in found.days(limit.days))
    assert sum(limit.binds for limit in found.limits) == 1


@pytest.mark.long
def test_the_budget_that_binds_is_nearly_spent() -> None:
    # A day at 1e-3 is as narrow as a year at 1 is: each binds where it is the narrower one.
    for epsilon, binds in (("0.01", 0), ("1", 1)):
        found = design([Query("a", bits=2)], [((epsilon, "1e-6"), 1), (("1", "1e-6"), 365)], users=10_000)
        assert [limit.binds for limit in found.limits].index(True) == binds
        limit = found.limits[binds]
        assert 1.0 - 2e-3 < limit.guarantee.epsilon / limit.budget.epsilon <= 1.0


@pytest.mark.long
def test_a_manifest_keeps_every_budget_with_clients_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 3_072)
    asked = [Query("a", bits=2), Query("b", buckets=7, bitsum="poisson"), Query("c", levels=3)]
    found = design(asked, [(("1", "1e-3"), 1), (("1.5", "1e-3"), 4)], users=60, honest=50)
    told: list[str] = []
    made = found.write(tmp_path / "plan.json", certified=True, progress=told.append)
    assert told == [
        f"{what} {days}" for what in ("a proof for", "the exact account of") for days in ("1 day", "4 days")
    ]
    assert (tmp_path / "plan.json").read_bytes() == made.data
    assert [asked_in(query) for query in made.content["queries"]] == found.asked
    for limit, said in zip(found.limits, made.guarantees, strict=True):
        assert (said["days"], Fraction(said["delta"])) == (limit.days, Fraction(1, 1000))
        assert Fraction(said["epsilon"]) <= limit.budget.exact_epsilon
        proof = (tmp_path / said["certificate"]["file"]).read_bytes()
        assert hashlib.sha256(proof).hexdigest() == said["certificate"]["sha256"]
        shown = json.loads(proof)
        assert checker.checked(shown).startswith("Accepted")
        # Of the laws, for what clients leave of delta.
        assert Fraction(shown["delta"]) == Fraction(999, 10**6)
        assert abs(float(shown["epsilon"]) / float(said["epsilon"]) - 1) < 0.02


def test_a_certificate_is_of_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverify.planning.certificate._NODES", 3_072)
    found = design([Query("a", bits=1), Query("b", buckets=3, bitsum="poisson")], ("1", "1e-3"), users=50)
    given = found.certificate(1)
    assert checker.checked(given).startswith("Accepted")
    assert 0.99 < float(given["epsilon"]) < 1.02
    with pytest.raises(ValueError, match="days"):
        found.certificate(2)


@pytest.mark.parametrize(
    ("queries", "budgets", "argument"),
    [
        ([], ("1", "1e-6"), "queries"),
        ([Query("a", bits=1)] * 2, ("1", "1e-6"), "name"),
        ([Query("a", bits=1)], ("1", 0), "delta"),
        ([Query("a", bits=1)], [(("1", "1e-6"), 1), (("2", "1e-6"), 1)], "budgets"),
        ([Query("a", bits=1)], [(("1", "1e-6"), 0)], "days"),
        ([Query("a", bits=1)], [], "budgets"),
    ],
)
def test_what_cannot_be_designed_is_refused(queries: list[Query], budgets: object, argument: str) -> None:
    with pytest.raises((ValueError, TypeError), match=argument):
        design(queries, budgets, users=100)  # type: ignore[arg-type]


def test_shares_stand_beside_bits_and_hide_as_much() -> None:
    asked = [Query("stars", number=(1, 5), bitsum="split-and-mix"), Query("facts", bits=2)]
    found = design(asked, ("1", "1e-6"), users=200, honest=180)
    plan = found.manifest()
    assert found.limits[0].guarantee.epsilon <= 1
    assert float(plan.guarantee["epsilon"]) <= 1
    assert recomputed(plan) == plan
    one, other = found.queries
    assert (one.bitsum, one.relative_error) == ("split-and-mix", pytest.approx(other.relative_error, rel=1e-3))
    alone = design([dataclasses.replace(asked[0], bitsum="laplace")], ("1", "1e-6"), users=200).queries[0]
    assert alone.rmse < design([asked[0]], ("1", "1e-6"), users=200).queries[0].rmse / 1.9


def test_days_of_more_sums_than_a_manifest_takes_are_accounted_for() -> None:
    found = design([Query("ids", buckets=10_000_000)], ("1", "1e-6"), users=10_000)
    (day,) = found.days(1)
    assert (day.protocol, day.instances) == (found.queries[0].protocol, 2)
