"""What a manifest says: the account of what clients draw, and parameters that are read back as they were."""

from __future__ import annotations

import doctest
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

from dpverify.collection import manifest as module
from dpverify.collection.client import Client, draws
from dpverify.collection.densities.signs import Signs
from dpverify.collection.manifest import Manifest, _Period, asked_in, manifest, recomputed
from dpverify.collection.query import Asked
from dpverify.collection.recipes import recipe_of
from dpverify.collection.uploads import Collector
from dpverify.guarantee import CapacityError, InfeasibleBudgetError, ThreatModel
from dpverify.planning.account import account
from protocols.bitsum import LocalRandomizedResponse, NegativeBinomial, Poisson, RandomizedResponse
from protocols.histogram import Histogram
from protocols.local.labels import LabelRandomizedResponse
from protocols.sums import PoissonSum
from tests.collection.test_tables import binomial_mass, exact, poisson_mass
from tests.collection.vectors import QUERIES, made
from tests.refusals import refused

DAY = [
    ("bits", RandomizedResponse(2_000, 0.1), 3, 1_800),
    ("sum", NegativeBinomial(2_000, 40.0, 0.5), 2, 1_800),
    ("places", Histogram(Poisson(2_000, 400.0, estimate="under"), 5), 1),
]


@pytest.mark.long
def test_the_guarantee_is_the_account_of_everything_with_clients_charged() -> None:
    plan = manifest(DAY, delta="1e-6")
    said = plan.guarantee
    assert {key: said[key] for key in ("delta", "adjacency", "threat_model", "side")} == {
        "delta": "0.000001",
        "adjacency": "replace-one",
        "threat_model": "communication",
        "side": "upper bound",
    }
    before = Fraction("1e-6") * Fraction(999, 1000)
    alone = account([entry[1:] for entry in DAY], delta=before).epsilon.upper
    epsilon = Fraction(said["epsilon"])
    assert 0 <= epsilon - Fraction(alone) < Fraction(1, 10**8)
    # The charge, anew, from nothing but the tables that clients have, and the laws: how far the last digits go.
    stated = Fraction(said["charged"]["probability"])
    factor = Fraction(math.exp(epsilon))
    assert (
        (before + factor * stated) / (1 - stated) <= Fraction("1e-6") < (before + factor * stated * 10) / (1 - stated)
    )
    sums, places = (charge_of(query["tables"]["noise"]) for query in plan.content["queries"][1:])
    with ctx.workprec(768):
        needed = 2 * 1_800 * sums(lambda k: binomial_mass(Fraction(40, 2_000), Fraction(1, 2), k))
        needed += 2_000 * 2 * places(lambda k: poisson_mass(Fraction(400, 2_000), k))
        assert exact(stated) / 2 < needed <= exact(stated)


def charge_of(thresholds: list[str]) -> Callable[[Callable[[int], arb]], arb]:
    """Return what finds the least s of a table with `(1 - s) r <= q`, for the masses of q."""
    ends = [0, *(int(threshold, 16) for threshold in thresholds), 2**128]

    def least(mass: Callable[[int], arb]) -> arb:
        with ctx.workprec(768):
            shares = [1 - mass(k) * 2**128 / (b - a) for k, (a, b) in enumerate(pairwise(ends))]
            return max(shares, key=float)

    return least


@pytest.mark.long
def test_several_days_are_charged_and_accounted_each() -> None:
    """Of a query of buckets two sums a day are all that a user changes, and all that her clients cost."""
    asked = [
        ("bits", RandomizedResponse(2_000, 0.1), 3, 1_800),
        Asked("words", Poisson(2_000, 90.0), 40, None, "buckets"),
    ]
    plan = manifest(asked, delta={30: "1e-5", 1: "1e-6"})
    for said, days, delta in zip(plan.guarantees, (1, 30), ("1e-6", "1e-5"), strict=True):
        before = Fraction(delta) * Fraction(999, 1000)
        runs = [(RandomizedResponse(2_000, 0.1), 3 * days, 1_800), (Poisson(2_000, 90.0), 2 * days)]
        alone, epsilon = account(runs, delta=before).epsilon.upper, Fraction(said["epsilon"])
        assert said["days"] == days
        assert 0 <= epsilon - Fraction(alone) < Fraction(1, 10**7)
        noise = charge_of(plan.content["queries"][1]["tables"]["noise"])
        stated, factor = Fraction(said["charged"]["probability"]), Fraction(math.exp(epsilon))
        assert (before + factor * stated) / (1 - stated) <= Fraction(delta)
        with ctx.workprec(768):
            needed = days * 2_000 * 2 * noise(lambda k: poisson_mass(Fraction(90, 2_000), k))
            assert exact(stated) / 2 < needed <= exact(stated)


def test_each_number_of_days_is_accounted_and_charged_for_itself() -> None:
    """As the two before, of laws that are so small that every run has it."""
    run, deltas, tails = Poisson(50, 40.0), {1: "1e-3", 3: "1e-3"}, list[Fraction]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_recipe", lambda asked, tail: tails.append(tail) or recipe_of(asked.protocol, tail))
        plan = manifest([("sum", run, 2)], delta=deltas)
    # All cut tails of 2 sums of 50 users are nearly what both guarantees have left for a day.
    factors = [
        Fraction(delta) + Fraction(math.exp(float(said["epsilon"])))
        for said, delta in zip(plan.guarantees, deltas.values(), strict=True)
    ]
    room = min(
        Fraction(delta) / 1000 / factor / days for (days, delta), factor in zip(deltas.items(), factors, strict=True)
    )
    assert 0.98 * room < 100 * tails[0] < room * Fraction(995, 1000)
    once = Fraction(plan.guarantee["charged"]["probability"])
    for said, (days, delta) in zip(plan.guarantees, deltas.items(), strict=True):
        before = Fraction(delta) * Fraction(999, 1000)
        epsilon, charged = Fraction(said["epsilon"]), Fraction(said["charged"]["probability"])
        assert (
            0 <= epsilon - Fraction(account(run, instances=2 * days, delta=before).epsilon.upper) < Fraction(1, 10**8)
        )
        assert charged == pytest.approx(days * once, rel=0.01)
        assert (before + Fraction(math.exp(epsilon)) * charged) / (1 - charged) <= Fraction(delta)


def test_what_lies_outside_of_the_tables_is_charged_to_delta_too() -> None:
    """With s = 1/100 left of delta = 1/10 and e^epsilon = 1, delta - s + s fits, and (delta - s + s) / (1 - s) not."""
    period = _Period(1, Decimal("0.1"), Fraction(1, 100), Decimal(0), Fraction(1))
    with pytest.raises(CapacityError, match=r"^delta=0\.1 is too small"):
        period.guarantee(Fraction(1, 100), ThreatModel.COMMUNICATION)
    assert period.guarantee(Fraction(9, 1000), ThreatModel.COMMUNICATION)["charged"]["probability"] == "0.009"


def test_a_point_of_several_classes_costs_draws_in_two_of_them() -> None:
    """One bit becomes a coin and one was a coin: one full change, but the laws of two messages are others."""
    bitsum, sums = Poisson(2_000, 400.0), [5, 10, 15]
    said = []
    for classes, number in enumerate(sums, 1):
        waves = Signs.sample(5, 2, "0.5", classes, np.random.default_rng(1))
        asked = Asked("a", bitsum, number, None, "density", waves)
        plan = manifest([asked], delta="1e-6")
        epsilon = account(bitsum, instances=5, delta=Fraction("1e-6") * Fraction(999, 1000)).epsilon.upper
        assert 0 <= Fraction(plan.guarantee["epsilon"]) - Fraction(epsilon) < Fraction(1, 10**8)
        noise = charge_of(plan.content["queries"][0]["tables"]["noise"])
        stated = Fraction(plan.guarantee["charged"]["probability"])
        with ctx.workprec(768):
            needed = min(classes, 2) * 5 * 2_000 * noise(lambda k: poisson_mass(Fraction(400, 2_000), k))
            assert exact(stated) / 2 < needed <= exact(stated)
        said.append(asked_in(plan.content["queries"][0]))
        assert said[-1] == asked
    for wrong, argument in (
        ({"points": None}, "points=None must be given"),
        ({"asks": "bits"}, "must be given for a density, and for nothing else"),
        ({"instances": 14}, "instances=14"),
    ):
        with pytest.raises(ValueError, match=argument):
            replace(said[-1], **wrong)
    with pytest.raises(TypeError, match="must be rr or poisson for a density"):
        replace(said[-1], protocol=NegativeBinomial(2_000, 40.0, 0.5))


def test_what_costs_nothing_is_charged_nothing() -> None:
    plan = manifest(DAY[:1], delta="1e-6")
    assert plan.guarantee["charged"] == {"probability": "0", "share_of_delta": "0"}
    alone = account(DAY[0][1], instances=3, honest=1_800, delta="1e-6").epsilon.upper
    assert 0 <= float(plan.guarantee["epsilon"]) - alone < 1e-7
    # Two thirds are flipped or not: pure, without any delta.
    local = [("a", LocalRandomizedResponse(9, 0.25), 2), ("b", LabelRandomizedResponse(3, 1.0))]
    said = manifest(local, delta=0).guarantee
    assert (said["delta"], said["threat_model"]) == ("0", "local")
    assert 0 <= float(said["epsilon"]) - (2 * math.log(3) + 1) < 1e-7


@pytest.mark.parametrize("name", QUERIES)
def test_a_protocol_is_read_back_as_it_was(name: str) -> None:
    (query,) = made(name).content["queries"]
    assert asked_in(query) == Asked(name, *QUERIES[name])
    of_bits = {"levels": "rr", "buckets": "poisson", "strings": "rr", "density": "rr", "classifier": "poisson"}
    of_numbers = {"number": "poisson-sum", "real": "nb-sum", "shares": "split-and-mix", "weights": "poisson-sum"}
    of_numbers["integers"] = "poisson-sum"
    assert query["protocol"] == {**of_bits, **of_numbers, "unary": "unary-vector-sum"}.get(name, name)


def test_parameters_are_exact_decimals() -> None:
    (query,) = manifest([("a", RandomizedResponse(9, 0.1))], delta="1e-3").content["queries"]
    assert Fraction(query["parameters"]["flip_probability"]) == Fraction(0.1)


def test_it_is_written_whole_with_its_hash(tmp_path: Path) -> None:
    plan = made("rr")
    assert plan.write(tmp_path / "plan.json") == plan.hash
    data = (tmp_path / "plan.json").read_bytes()
    assert Manifest(data) == plan
    assert json.loads(data)["format"] == "dpverify manifest"
    assert manifest([("rr", *QUERIES["rr"])], delta="1e-6") == plan
    proofs = {1: {"file": "plan.1-days.json", "sha256": "00"}}
    proved = manifest([("rr", *QUERIES["rr"])], delta="1e-6", certificates=proofs)
    assert recomputed(proved) == proved != plan


def test_the_example_runs() -> None:
    assert doctest.testmod(sys.modules["dpverify.collection.manifest"]) == (0, 3)


def test_what_cannot_be_collected_is_refused() -> None:
    one = RandomizedResponse(9, 0.1)
    for queries in ([], "rr", [one], [("a",)], [("", one)], [("é", one)], [("a", one), ("a", one)]):
        with pytest.raises(ValueError, match=r"^(queries|name).* must .*\.$"):
            manifest(queries, delta="1e-6")
    with refused("asks"):
        Asked("a", one, 2, None, "bit")
    with refused("protocol", TypeError):
        Asked("a", LabelRandomizedResponse(3, 1.0), 2, None, "levels")
    with refused("instances"):
        Asked("a", one, 1, None, "buckets")
    for delta in ({}, {0: "1e-6"}):
        with pytest.raises(ValueError, match=r"^(delta|days)=.* must .*\.$"):
            manifest([("a", one)], delta=delta)
    for delta in (1, -1e-9):
        with refused("delta"):
            manifest([("a", one)], delta=delta)
    with pytest.raises(ValueError, match="contradict"):
        manifest([("a", one), ("b", LabelRandomizedResponse(3, 1.0))], delta="1e-6")
    with pytest.raises(InfeasibleBudgetError, match="cannot draw these laws exactly"):
        manifest([("a", Poisson(2_000, 400.0))], delta=0)
    with pytest.raises(InfeasibleBudgetError, match="no finite epsilon"):
        manifest([("a", RandomizedResponse(9, 0.0))], delta="1e-6")
    with pytest.raises(CapacityError, match="too small for draws of 128 bits"):
        manifest([("a", Poisson(2_000, 4000.0))], delta="1e-36")


@pytest.mark.parametrize("name", QUERIES)
def test_a_task_of_sums_takes_the_largest_upload_and_nothing_larger(name: str) -> None:
    plan = made(name)
    (query,) = plan.content["queries"]
    if name in ("vector-sum", "local-rr", "labels", "rappor", "shares"):
        with refused("protocol"):
            plan.dap_tasks()
        return
    (task,) = plan.dap_tasks()
    vdaf = task["vdaf"]
    assert (task["name"], task["min_batch_size"]) == (name, 2_000)
    assert vdaf["bits"] == int(vdaf["max_measurement"]).bit_length()
    # Every draw is the largest that there is: of a bit that is neither flipped nor dropped.
    known: dict[str, object] = {"levels": 5, "buckets": 2, "strings": "red", "density": [0.0] * 3}
    known |= {"density": [1, [0.0] * 2]} if name == "classifier" else {}
    known |= {"vector": [(-1.0 if sign == "1" else 1.0) / math.sqrt(5) for sign in query.get("signs", "")]}
    known |= {"weights": [1, 0.1]}
    usual = float(query["largest"]) if "real" in query else int(query["kind"] != "buckets")
    held = known.get(query.get("asks", ""), usual if query.get("real") else int(usual))
    if query["instances"] > 1 and "asks" not in query:
        held = [held] * query["instances"]
    word = (b"\0" if query["kind"] == "report" else b"\xff") * 16
    first = b"\0" * 16 if "drop" in query["tables"] else word
    rest = word * (draws(query) - 1)
    if name == "unary":  # the largest coordinate is rounded up, and its noise alone is the largest
        first, rest = b"\0" * 16 * 8, word + b"\0" * 16 * 15
    upload = Client(plan.data, plan.hash).upload(name, held, entropy=first + rest)
    (fields,) = Collector(plan.data, plan.hash).fields(name, [upload])
    assert fields.size == vdaf["length"]
    assert fields.max() == vdaf["max_measurement"]


def test_integers_beyond_the_floats_are_refused_in_a_sentence() -> None:
    plan = manifest([Asked("stars", PoissonSum(60, 5, 90.0, smallest=1))], delta="1e-3")
    fields = [("parameters", name, 400) for name in ("largest", "smallest", "mean")]
    for place, name, zeros in (*fields, ("", "instances", 30), ("", "instances", 400)):
        content = plan.content
        (query,) = content["queries"]
        (query[place] if place else query)[name] = 10**zeros
        with pytest.raises(
            ValueError, match=rf"^query 1: {name}=10{{{zeros}}} must be (a finite number|an integer) in "
        ):
            Manifest.of(content).asked()


ONE = manifest([("bits", RandomizedResponse(1_000, 0.1), 2, 900)], delta="1e-6").data


def test_a_task_is_of_all_users_also_where_fewer_are_counted_on() -> None:
    assert [task["min_batch_size"] for task in Manifest(ONE).dap_tasks()] == [1_000]


NO_DECIMAL = "must be a finite decimal in a string"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        *(("epsilon", value, f"epsilon {NO_DECIMAL}") for value in ("NaN", '"nan"', "1e400", "2.5", '"inf"', '"1_0"')),
        ("delta", "null", f"delta {NO_DECIMAL}"),
        ("probability", "0", f"probability {NO_DECIMAL}"),
        ("days", "true", r"days True must be an integer in \[1"),
        ("threat_model", "[]", "is not a valid ThreatModel"),
        ("version", '1,"version":1', "'version' is there twice"),
        ("version", "[" * 100_000, "it is nested too deeply"),
        ("version", "2", "version 1"),
        ("guarantees", "[1]", "guarantees must be a list of objects, at least one"),
        ("guarantees", json.dumps(Manifest(ONE).guarantees * 2), r"days \[1, 1\] must be in rising order"),
        ("delta", '"1e-6","certificate":{"file":"a"}', "certificate must be an object with file and sha256"),
        ("queries", "null", "queries must be a list of objects, at least one"),
        ("users", '"1000"', r"query 1: users '1000' must be an integer in \[1"),
        ("instances", '"2"', "query 1: instances '2' must be"),
        ("parameters", "[]", "query 1: parameters must be an object with users, flip_probability"),
        ("flip_probability", '"x"', f"query 1: flip_probability {NO_DECIMAL}"),
        ("protocol", "7", "query 1: name '7' must be one of"),
        ("tables", '{"shift":["zz"]}', "query 1: tables must be lists of thresholds of 32 hexadecimal digits"),
        ("choices", "null", "queries must have all settings of their kinds"),
    ],
)
def test_a_file_that_is_no_manifest_is_refused_by_its_field(field: str, value: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(ONE)
    assert Manifest.read(file).data == ONE
    start = ONE.index(f'"{field}":'.encode()) + len(field) + 3
    end = json.JSONDecoder().raw_decode(ONE.decode(), start)[1]
    file.write_bytes(ONE[:start] + value.encode() + ONE[end:])
    with pytest.raises(ValueError, match=f"^manifest='.*' must be a manifest: .*{said}"):
        Manifest.read(file)
