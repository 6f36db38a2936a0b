"""Certificates of noisy steps: near the account, accepted, never below what is attained, refused if tampered with."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import dpverify
from dpverify.guarantee import CapacityError
from dpverify.planning.steps import certificate as module
from dpverify.planning.steps.allocation import RandomAllocation
from dpverify.planning.steps.certificate import checker, step_certificate
from dpverify.planning.steps.step import NoisyStep, Steps


def coarsen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take fewer nodes and cells, by the same rules, in a third of the time."""
    for name, value in (("_FINE", 0.02), ("_FEWEST", 1024), ("_SPREAD", 0.006), ("_RATIOS", 6_000)):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("coarse", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("parts", "adjacency", "wider"),
    [
        ([(NoisyStep(1.0, 0.01), 100)], "add-remove", 1e-3),
        ([(NoisyStep(2.0, 0.1, "laplace"), 5), (NoisyStep(4.0, 0.05, sampling="fixed-size"), 20)], "add-remove", 2e-3),
        ([(NoisyStep(3.0, 0.2, sampling="fixed-size"), 10)], "replace-one", None),
        ([NoisyStep(0.1, law="laplace")], "add-remove", 1e-4),  # the largest loss is inside the last cell
        ([(NoisyStep(9.0), 2), (NoisyStep(4.0, 0.1), 10)], "replace-one", 2e-3),
        ([(RandomAllocation(2.0, 10), 3), (NoisyStep(9.0), 1)], "zero-out", 1e-4),
        pytest.param([RandomAllocation(2.0, 7, "laplace", chosen=2)], "add-remove", 1e-3, marks=pytest.mark.long),
    ],
)
def test_a_certificate_is_accepted_and_near_the_account(
    parts: Any, adjacency: str, wider: float | None, coarse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if coarse:
        coarsen(monkeypatch)
        wider = 0.015
    found = dpverify.account(parts, delta="1e-6", adjacency=adjacency, relative_width=1e-4)
    certificate = found.certificate()
    assert checker.checked(certificate).startswith("Accepted: ")
    certified = float(certificate["epsilon"])
    assert found.epsilon.lower <= certified <= found.epsilon.upper * (1.0 + (wider or 2e-3))


@pytest.mark.long
def test_no_certificate_is_below_what_is_attained() -> None:
    draw, met = random.Random(11), 0
    while met < 12:
        law, sampling = draw.choice(["gaussian", "laplace"]), draw.choice(["poisson", "fixed-size"])
        rate = draw.choice([1.0, round(10 ** draw.uniform(-3, -0.1), 4)])
        sampling = "poisson" if rate == 1.0 else sampling
        step = NoisyStep(round(10 ** draw.uniform(-0.2, 1.5), 3), rate, law, sampling)
        steps, delta = int(10 ** draw.uniform(0, 3.5)), f"{10 ** draw.uniform(-9, -2):.3g}"
        truth = dpverify.account(step, instances=steps, delta=delta, relative_width=1e-4).epsilon
        if not 1e-3 < truth.lower <= truth.upper < 50:
            continue
        certified = float(step_certificate(Steps([(step, steps)]), delta=delta)["epsilon"])
        assert truth.lower <= certified <= 1.02 * truth.upper, (step, steps, delta)
        met += 1


def test_whoever_changes_a_field_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    coarsen(monkeypatch)
    certificate = step_certificate(Steps([(NoisyStep(1.0, 0.01, "laplace"), 100)]), delta="1e-6")
    (entry,) = certificate["together"]
    for name, worse in {
        "noise": "0.99",
        "sensitivity": "1.01",
        "rate": "0.0101",
        "steps": 102,
        "sampling": "fixed-size",
    }.items():
        with pytest.raises(checker.Refused):
            checker.checked(certificate | {"together": [entry | {name: worse}]})
    less = repr(0.999 * float(certificate["epsilon"]))
    for change in ({"epsilon": less}, {"delta": "9.9e-7"}, {"together": [entry, entry]}):
        with pytest.raises(checker.Refused):
            checker.checked(certificate | change)
    for change in (  # whatever else is no certificate, and is said in a sentence
        {"format": "dpverify certificate 2"},
        {"adjacency": "replace-one"},  # of Laplace noise
        {"adjacency": "zero-out", "together": [entry | {"sampling": "fixed-size"}]},
        {"adjacency": ["add-remove"]},
        {"delta": 1e-6},
        {"epsilon": "0"},
        {"bits": 177},
        {"grid": True},
        {"window": [5, 5]},
        {"together": []},
        {"together": [entry | {"rate": "1.0001"}]},
        {"together": [entry | {"cells": [0]}]},
        {"together": [entry | {"cells": [3, 2]}]},
        {"together": [entry | {"noise": "0.001"}]},
        {"together": [entry | {"law": "cauchy"}]},
        {"together": [entry | {"more": 1}]},
        {"more": 1},
    ):
        with pytest.raises(ValueError, match=r"must be|has no certificate"):
            checker.checked(certificate | change)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(certificate)[:-1] + ', "delta": "0.5"}', encoding="ascii")
    assert checker.main(file) == 2


@pytest.mark.long
def test_whoever_changes_a_pass_is_refused() -> None:
    certificate = step_certificate(Steps([(RandomAllocation(2.0, 10, "laplace"), 2)]), delta="1e-6")
    (entry,) = certificate["together"]
    changes = {"noise": "1.99", "sensitivity": "1.01", "pass": 9, "steps": 3, "fine": entry["fine"] - 1}
    changes |= {"fine ": entry["fine"] + 1, "ratios": entry["ratios"][5:], "ratios ": entry["ratios"][:9], "top": 9}
    for name, worse in changes.items():
        with pytest.raises(checker.Refused):
            checker.checked(certificate | {"together": [entry | {name.strip(): worse}]})
    for change in ({"adjacency": "replace-one"}, {"together": [entry | {"pass": 0}]}):
        with pytest.raises(ValueError, match=r"must be|has no certificate"):
            checker.checked(certificate | change)


def test_what_has_no_certificate_says_so() -> None:
    with pytest.raises(ValueError, match="has no certificate: a NoisyStep and a RandomAllocation have"):
        dpverify.account(dpverify.IntegerStep(10.0), delta="1e-6").certificate()
    laplace = dpverify.account(
        NoisyStep(3.0, 0.2, "laplace"), delta="1e-6", adjacency="replace-one", relative_width=0.1
    )
    why = "^adjacency='replace-one' has no certificate with laplace noise where sampling is poisson"
    with pytest.raises(ValueError, match=why):
        laplace.certificate()
    with pytest.raises(ValueError, match="must be omitted"):
        dpverify.account(NoisyStep(3.0, 0.2), epsilon=1, relative_width=1e-2).certificate()
    with pytest.raises(CapacityError):
        step_certificate(Steps([(NoisyStep(0.06), 10**6)]), delta="1e-6")
    for noise, steps in ((0.2, 10), (1.0, 10**6)):
        with pytest.raises(CapacityError, match="for a certificate of random allocation"):
            step_certificate(Steps([(RandomAllocation(noise, steps), 1)]), delta="1e-6")
    with pytest.raises(ValueError, match="adjacency=replace-one has no certificate of random allocation"):
        step_certificate(Steps([(RandomAllocation(2.0, 10), 1)], "replace-one"), delta="1e-6")


def test_next_to_no_epsilon_there_is_a_certificate() -> None:
    """The least epsilon was once sought for ever where every epsilon would do."""
    certificate = step_certificate(Steps([(NoisyStep(5.0, 1e-6), 10)]), delta="1e-3")
    assert 0.0 < float(certificate["epsilon"]) < 1e-10
    assert checker.checked(certificate)


@pytest.mark.parametrize(
    ("step", "steps", "delta", "said"),
    [
        (NoisyStep(1.0), 2, "1e-100", r"delta=1e-100 must be at least 5.9e-39"),
        (NoisyStep(0.02), 1, "1e-6", r"noise=0.02 must be from 0.025 to 1e\+09"),
        (NoisyStep(0.04, 0.1, sampling="fixed-size"), 1, "1e-6", r"noise=0.04 must be from 0.05 to 2e\+09"),
        (NoisyStep(1.0, 1e-95), 1, "1e-6", "rate=1e-95 must be at least 1e-90"),
        (NoisyStep(1.0), 10**9 + 1, "1e-6", "steps=1000000001 must be at most 1,000,000,000"),
    ],
)
def test_what_the_checker_does_not_read_is_refused_by_name(step: NoisyStep, steps: int, delta: str, said: str) -> None:
    with pytest.raises(ValueError, match=rf"^{said}.* certificate"):
        step_certificate(Steps([(step, steps)]), delta=delta)


@pytest.mark.long
def test_the_least_delta_has_a_certificate() -> None:
    certificate = step_certificate(Steps([(NoisyStep(10.0), 1)]), delta="3e-39")
    assert certificate["bits"] == 176
    truth = dpverify.account(NoisyStep(10.0), delta="3e-39").epsilon
    assert truth.lower <= float(certificate["epsilon"]) <= 1.001 * truth.upper
