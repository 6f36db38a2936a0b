"""The second checker accepts no claim that brute force refutes, and each of its charges is there."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpverify.cli import main
from dpverify.demo import _Features, _Planner
from dpverify.planning.contours.contour_certificate import checker
from tests.certificates import contour_hunt as hunt
from tests.certificates.contour_bounds import CHECKS, POISSON, RESPONSE


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_every_charge_is_there(check: Any) -> None:
    check()


@pytest.mark.long
@pytest.mark.parametrize("good", [POISSON, RESPONSE], ids=["poisson", "rr"])
def test_a_claim_is_accepted_from_what_is_shown_on(good: dict[str, Any]) -> None:
    less_noise = {"flip_probability": "0.15"} if "cells" in good else {"users": 9}
    shown = hunt.shown(good)
    assert 0 < shown < 1
    assert hunt.accepted(good | {"delta": f"{shown * 1.001:.9f}"})
    for change in ({"epsilon": "0.9"}, {"instances": 3}, {"delta": f"{shown * 0.999:.9f}"}, less_noise):
        assert not hunt.accepted(good | {"delta": f"{shown * 1.001:.9f}"} | change), change


BAD: list[dict[str, Any]] = [
    {"sizes": ["0.2", "0.9"]},
    {"sizes": ["0.4", "0.4", "1"]},
    {"sizes": ["0.4", "1.1"]},
    {"sizes": []},
    {"squared_change": "2.1"},
    {"price": "-0.1"},
    {"honest": 6},
    {"heights": 1},
    {"spacing": "0"},
    {"format": "dpverify certificate 1"},
    {"instances": True},
]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_fields_out_of_range_are_no_certificate(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        checker.checked(POISSON | change)


@pytest.mark.parametrize("change", [{"cells": [1, 2]}, {"cells": [0, 5]}, {"cells": [0, 2, 2]}, {"pieces": [3, 2]}])
def test_every_dataset_is_in_a_cell(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        checker.checked(RESPONSE | change)


def test_a_field_of_one_value_is_told_without_how_many() -> None:
    for field, valid in (
        ("grid", "an integer from 1 to 24"),
        ("window", "an integer from -131072 to 131072, 2 of them"),
    ):
        with pytest.raises(ValueError, match=rf"^{field} must be {valid}[.,]"):
            checker.checked(RESPONSE | {field: "x"})


def test_malformed_files_are_no_certificates(tmp_path: Path) -> None:
    chance, file = random.Random(11), tmp_path / "certificate.json"
    for good in (POISSON, RESPONSE):
        for _ in range(40):
            file.write_text(json.dumps(wrong := hunt.malformed(chance, good)))
            assert checker.main(file) == 2, wrong
    for text in ('{"a": 1, "a": 2}', "[" * 100_000, "1" * 10_000, "1.5", "NaN", "{", "null", "[]"):
        file.write_text(text)
        assert checker.main(file) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "change",
    [
        {"mean": "1e17"},
        {"window": [-131072, 131072], "top": 131000, "tilt": "900"},
        {"window": [-20000, 20000], "top": 19000, "heights": 4096, "bits": 256, "grid": 12},
        {"spacing": "900"},
    ],
)
def test_too_much_work_or_memory_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(checker.Refused):
        checker.checked(POISSON | change)


@pytest.mark.long
def test_the_demonstrations_certificate_is_of_its_plan_and_shows_no_more_than_it_claims() -> None:
    features = _Features.of("exact", 64, 256)
    row = _Planner("rr", "exact", features).row(1347 // 10)
    given = json.loads((Path(__file__).parents[2] / "docs/certificates/demo.json").read_text(encoding="ascii"))
    says = {"users": 130, "instances": features.bits, "squared_change": repr(features.squared_change)}
    says |= {"flip_probability": repr(row.parameters["flip_probability"]), "delta": "1e-06"}
    assert says.items() <= given.items()
    assert 0.98e-6 < hunt.shown(given) <= 1e-6


def test_it_runs_alone_and_as_a_command(tmp_path: Path) -> None:
    copied, file = tmp_path / "contour_checker.py", tmp_path / "certificate.json"
    shutil.copy(checker.__file__, copied)
    file.write_text(json.dumps(POISSON | {"delta": "0.9"}))
    run = subprocess.run([sys.executable, "-I", "-S", copied, file], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Accepted: epsilon 1, delta 0.9, protocol poisson")
    assert "squared_change 1.3" in run.stdout
    assert main(["check", str(file)]) == 0
    file.write_text(json.dumps(POISSON | {"delta": "0.0001"}))
    assert main(["check", str(file)]) == 1
