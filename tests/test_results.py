"""Every public result shows itself in all ways: text, HTML, figure, plain values, data frame."""

import importlib
import inspect
import json
import pkgutil
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import dpverify
from dpverify.audit.subjects.density import DensityErrors
from dpverify.certificates.enclosure import Enclosure, hockey_stick
from dpverify.certificates.pairs import GaussianPair
from dpverify.claims.attacks.manipulation import Manipulation, manipulation
from dpverify.collection.analysis.aggregate import Aggregate, aggregate
from dpverify.collection.analysis.sums import Sums
from dpverify.collection.rehearsal import Rehearsal, Rehearsed
from dpverify.collection.store import Arrived, Collected
from dpverify.composition.inverse import PerInstanceBudget, per_instance_budget
from dpverify.demo import DemoResult, DemoRow
from dpverify.dossier.contents import Curves, Dossier
from dpverify.guarantee import Budget, Interval
from dpverify.learning.decoding import Decoded
from dpverify.learning.evaluate import Learned, LearnedJointly
from dpverify.learning.guarantee import LearnedGuarantee
from dpverify.papers.theorem import Theorem
from dpverify.planning.kernels.densities import DensityGrid, NoDensity
from dpverify.planning.kernels.density import DensityPlan, DensityRow
from dpverify.planning.kernels.least_densities import LeastDensities
from dpverify.planning.sweeps.least_plans import Least
from dpverify.reproduction.experiment import Panel, Reproduction
from dpverify.shown import Drawn, Shown
from dpverify.spending.ledger import PrivacyLedger, Spent
from protocols.bitsum import CentralGaussian, LocalRandomizedResponse, RandomizedResponse
from protocols.decoding import Word
from protocols.lsq import Identity

BUDGET = Budget("1", "1e-4")
FEW: dict[str, Any] = {"users": 100, "instances": 2}
VALUES = {Interval, Enclosure, Manipulation, PerInstanceBudget, Theorem, tuple[float, float], float, int}
"""Numbers and statements rather than results: they are plain values, and nothing more."""


def spent() -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        ledger = PrivacyLedger.create(Path(folder) / "spent.jsonl", BUDGET)
        ledger.spend(CentralGaussian(10, 50.0), label="first")
        return ledger.spent()


def density() -> DensityPlan:
    row = dpverify.plan("central-gaussian", BUDGET, users=100, instances=4, squared_change=1)
    return DensityPlan(
        "inner-product", 4, 100, None, BUDGET, (DensityRow(Identity(4, radius=1.0), 1, 4, 1.0, row, 0.1),)
    )


def reproduction() -> Reproduction:
    rows = tuple({"n": n, "method": "exact", "rmse": 1.0 / n} for n in (1, 2, 4))
    panel = Panel("error", "n", "rmse", "method", rows, "users", "RMSE", "xy")
    return Reproduction("x-figure-1", "x, Figure 1", "error", "none", rows, (), (panel,))


def demonstration() -> DemoResult:
    (found,) = dpverify.plan_bitsums(BUDGET, **FEW, bitsums=["central-gaussian"], methods=["exact"]).plans
    rows = (
        DemoRow("without privacy", None, (0.9, 0.8)),
        DemoRow("central", "exact", (0.7,), 3.0, 4.0, found.guarantee, Interval(0.9, 1.0), ("a note",)),
        DemoRow("none", "exact", error="no plan"),
    )
    return DemoResult(BUDGET, 5.0, 100, 50, 10, 2, 1, rows)


def guessed(secrets: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float64]:
    return 2.0 * (secrets ^ (rng.random(secrets.size) < 0.4)) - 1.0


def dossier() -> Dossier:
    plans = dpverify.plan_bitsums(BUDGET, **FEW, bitsums=["poisson", "central-gaussian"])
    reason, none = "It is the only one.", Curves()
    return Dossier("A title", plans, None, plans.plans[0], reason, none, none, none, none, none, None, None, ())


def learned() -> Learned:
    guarantee = LearnedGuarantee(dpverify.plan("central-gaussian", BUDGET, **FEW).guarantee)
    made = SimpleNamespace(
        n_features_in_=2, kernel="gaussian", bandwidth_=1.0, bitsum="rr", guarantee_=guarantee,
        protocol_=SimpleNamespace(features_=SimpleNamespace(coordinates=8)), classes_=np.array(["a", "b"]),
        reported_counts_=np.array([60, 40]), noise_=np.array([0.1, 0.2]), empty_classes_=np.array([]),
    )  # fmt: skip
    return Learned(made, 100, 20, 15)  # type: ignore[arg-type]


def learned_jointly() -> LearnedJointly:
    guarantee = LearnedGuarantee(dpverify.plan("central-gaussian", BUDGET, **FEW).guarantee)
    made = SimpleNamespace(
        n_features_in_=2, guarantee_=guarantee, classes_=np.array(["a", "b"]), map_=SimpleNamespace(second=True),
        moments_=SimpleNamespace(shares=np.array([0.6, 0.4])), predicted_=np.array([True, False]), noise_=0.1,
        plan_=SimpleNamespace(messages_per_user=9.0, bytes_per_user=5.0),
    )  # fmt: skip
    return LearnedJointly(made, 100, 20, 15)  # type: ignore[arg-type]


def decoded() -> Decoded:
    words = {"a": [Word("one", 0.9, 0), Word("two", 0.1, 1)], "b": [Word("three", 0.5, 2)]}
    return Decoded(learned().classifier, "distinctive", 3, words)


def aggregated() -> Aggregate:
    found = dpverify.design(
        [dpverify.Query("a", levels=3, bitsum="rr"), dpverify.Query("b", buckets=3, bitsum="rr")], BUDGET, users=100
    ).manifest()
    users = {"a": np.full(2, 100), "b": np.full(3, 100)}
    counts = {"a": np.array([[60, 40], [70, 30]]), "b": np.array([[40, 60], [60, 40], [60, 40]])}
    return aggregate(found, Sums(found.hash, users, counts))


LOCAL = LocalRandomizedResponse(20, 0.3)
SAMPLES: dict[str, Callable[[], Shown]] = {
    "account": lambda: dpverify.account(RandomizedResponse(100, 0.25), delta=1e-3),
    "schedule": lambda: dpverify.account([(CentralGaussian(9, 30.0), 2), (CentralGaussian(9, 40.0), 1)], delta=1e-3),
    "steps": lambda: dpverify.account(dpverify.NoisyStep(1.0, rate=0.01), instances=9, delta=1e-3),
    "amplify": lambda: dpverify.amplify(users=10, delta=1e-4, epsilon0=1),
    "audit": lambda: dpverify.audit_protocol(LOCAL, trials=200),
    "anytime": lambda: dpverify.audit_protocol(LOCAL, anytime=True, trials=500),
    "density audit": lambda: dpverify.audit_protocol(
        DensityErrors(LOCAL, Identity(2, radius=1.0), np.full((20, 2), 0.5), np.full((1, 2), 0.5), instances=1),
        trials=100,
        level=0.1,
    ),
    "mechanism": lambda: dpverify.audit_mechanism(
        lambda inputs, rng: float(inputs + rng.laplace()), (1, 0), (0.0, 1.0), trials=1000
    ),
    "one run": lambda: dpverify.audit_one_run(guessed, (1, 0), canaries=100),
    "budgets": lambda: dpverify.split_budget(BUDGET, 10),
    "plan_bitsums": lambda: dpverify.plan_bitsums(BUDGET, **FEW, bitsums=["poisson", "central-gaussian"]),
    "crowd": lambda: dpverify.crowd(BUDGET, **FEW, bitsums=["poisson"], fractions=["0.5", "1"]),
    "decoded": decoded,
    "demo": demonstration,
    "density": density,
    "least_densities": lambda: LeastDensities(
        "users",
        "inner-product",
        4,
        None,
        Fraction(1),
        Fraction(1, 10**6),
        None,
        0.2,
        None,
        None,
        (Least(9.0, density().rows[0]),),
    ),
    "densities": lambda: DensityGrid("inner-product", 4, None, (density(), NoDensity(BUDGET, 7, "too few."))),
    "dossier": dossier,
    "front": lambda: dpverify.front(BUDGET, **FEW, bitsums=["poisson", "local-rr"], margins=[0.01]),
    "grid": lambda: dpverify.plan_grid([BUDGET, (2, "1e-4")], **FEW, bitsums=["poisson", "central-gaussian"]),
    "learned": learned,
    "learned jointly": learned_jointly,
    "least": lambda: dpverify.least_epsilon("1e-4", error=0.3, **FEW, bitsums=["poisson", "local-rr"]),
    "meaning": lambda: dpverify.account(CentralGaussian(9, 30.0), delta=1e-3).meaning(),
    "means": lambda: dpverify.plan_means(BUDGET, users=100),
    "sums": lambda: dpverify.plan_sums(BUDGET, users=100, largest=2),
    "sum front": lambda: dpverify.sum_front(BUDGET, users=100, largest=2),
    "vectors": lambda: dpverify.vector_front(BUDGET, users=1000, dimension=8, max_bytes=[0.01, 9]),
    "aggregate": aggregated,
    "collected": lambda: Collected("day", "2026-11-29T03:00Z", (Arrived("a", 3, 9, 9, 8, "open"),)),
    "rehearsal": lambda: Rehearsal(9, 1, 1, 1, 99, (Rehearsed("a", "bits", 2, 2, 1.0, 4.0, 0),), (aggregated(),)),
    "design": lambda: dpverify.design([dpverify.Query("features", bits=3)], BUDGET, users=100),
    "plan": lambda: dpverify.plan("poisson", BUDGET, **FEW),
    "rappor": lambda: dpverify.plan_rappor(1, 2, users=1000, hashes=[1]),
    "reproduction": reproduction,
    "spent": spent,
}


@cache
def sample(name: str) -> Shown:
    return SAMPLES[name]()


def every_result() -> set[type]:
    """Return the classes of results, wherever they are."""
    for module in pkgutil.walk_packages(dpverify.__path__, "dpverify."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(kind: type) -> Iterator[type]:
        yield kind
        for each in kind.__subclasses__():
            yield from below(each)

    return {kind for kind in below(Shown) if kind.__module__.startswith("dpverify.")} - {Shown, Drawn}


@pytest.mark.long
def test_no_result_is_left_out() -> None:
    assert {kind.__name__ for kind in every_result()} == {type(sample(name)).__name__ for name in SAMPLES}


def test_what_public_functions_return_is_a_result_or_a_value() -> None:
    left = []
    for name in dpverify.__all__:
        if inspect.isfunction(function := getattr(dpverify, name)):
            kind = get_type_hints(function)["return"]
            if kind not in VALUES and kind != tuple[Theorem, ...] and not issubclass(kind, Drawn):
                left.append(name)
    assert left == []


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLES)
def test_a_result_shows_itself_in_all_ways(name: str) -> None:
    found = sample(name)
    assert isinstance(found, Drawn)
    text = str(found)
    assert all(len(line) <= 80 for line in text.split("\n"))
    assert found._repr_html_().startswith(("<pre>", "<iframe title="))
    plain = found.to_dict()
    json.dumps(plain, allow_nan=False)
    frame = found.to_dataframe()
    assert len(frame) >= max(1, len(plain.get(found.rows_by, [0])))
    assert not any(isinstance(value, (dict, list)) for value in frame.to_numpy().ravel())
    axes = found.plot()
    assert isinstance(axes, Axes)
    assert axes.has_data()
    given = Figure().add_subplot()
    assert found.plot(given) is given
    assert given.has_data()


@pytest.mark.parametrize(
    "made",
    [
        lambda: dpverify.largest_epsilon0(0.5, users=10, delta=1e-6),
        lambda: hockey_stick(GaussianPair("2"), "0.3"),
        lambda: manipulation(LOCAL, 2),
        lambda: per_instance_budget(BUDGET, 10, composition="basic"),
        lambda: dpverify.theorems()[0],
    ],
    ids=["Interval", "Enclosure", "Manipulation", "PerInstanceBudget", "Theorem"],
)
def test_values_are_plain(made: Callable[[], Any]) -> None:
    value = made()
    assert type(value) in VALUES
    json.dumps(value.to_dict(), allow_nan=False)
