"""Mechanisms of other libraries as targets: how they are called, and what an audit with their exact laws says."""

import re
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.audit.black_boxes.black_box import audit_mechanism
from dpverify.audit.protocol import audit_protocol
from dpverify.audit.running.target import Target, TargetError
from dpverify.audit.subjects.libraries import library_target, takes_the_value_alone
from dpverify.audit.subjects.own_law import law_subject
from dpverify.laws import noise
from dpverify.laws.discrete import DiscreteLaw
from dpverify.statistics.family import Verdict

RNG = np.random.default_rng(0)


def given(mechanism: Any, value: Any, **options: Any) -> Any:
    """Return one output."""
    return library_target(mechanism, **options)(np.asarray(value), RNG, 1, "trial 0")[0]


def plain(value: Any) -> float:
    """Take Python's own numbers and lists only, as OpenDP and PyDP do."""
    assert type(value) in (int, float, list)
    return float(sum(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("way", ["randomise", "add_noise", "quick_result"])
def test_a_mechanism_is_called_as_its_library_does(way: str) -> None:
    mechanism = types.SimpleNamespace(**{way: lambda value: plain(value) + 1.0})
    assert given(mechanism, 3) == 4.0
    assert takes_the_value_alone(mechanism)


def test_values_reach_a_library_as_plain_numbers_and_lists() -> None:
    assert [given(plain, np.int64(3)), given(plain, np.array([1.0, 2.5]))] == [3.0, 3.5]


def test_rows_have_a_shape() -> None:
    assert given(lambda value: [value, 2 * value], 3, shape=(2,)).tolist() == [3.0, 6.0]


def test_who_wants_a_generator_gets_one() -> None:
    assert takes_the_value_alone(abs)
    assert not takes_the_value_alone(lambda value, rng: value)
    assert not takes_the_value_alone(lambda value, rng, trials: value)
    assert not takes_the_value_alone(Target(abs))
    assert not takes_the_value_alone("module:callable")


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^mechanism=3 must be a callable of one argument, or have one of "):
        library_target(3)


def test_the_name_is_told_in_messages() -> None:
    with pytest.raises(TargetError, match=r"^target='a library' raised ZeroDivisionError"):
        given(lambda value: 1 / value, 0, name="a library")


GEOMETRIC = DiscreteLaw.from_integer_law(noise.discrete_laplace(1.0))


def installed(module: str) -> Any:
    package = module.split(".")[0]
    why = f"{package} is not installed (pip install '.[peers]')"
    return pytest.importorskip(module, reason=why, exc_type=ImportError)


def laplace(library: str, kind: type) -> Any:
    """Return a library's Laplace noise for epsilon 1 and sensitivity 1, on integers or on floats."""
    if library == "opendp":
        prelude = installed("opendp.prelude")
        prelude.enable_features("contrib")
        domain = prelude.atom_domain(T=int) if kind is int else prelude.atom_domain(T=float, nan=False)
        return prelude.m.make_laplace(domain, prelude.absolute_distance(T=kind), scale=1.0)
    if library == "pydp":
        return installed("pydp.algorithms.numerical_mechanisms").LaplaceMechanism(epsilon=1.0, sensitivity=1.0)
    mechanisms = installed("diffprivlib.mechanisms")
    return (mechanisms.Geometric if kind is int else mechanisms.Laplace)(epsilon=1.0, sensitivity=1)


def pydp_gaussian() -> Any:
    numerical = installed("pydp.algorithms.numerical_mechanisms")
    return numerical.GaussianMechanism(epsilon=1.0, delta=1e-3, sensitivity=1.0)


@pytest.mark.parametrize("library", ["opendp", "diffprivlib"])
def test_integer_noise_of_a_library_follows_its_law(library: str) -> None:
    cases = {"0": (0, GEOMETRIC), "1": (1, GEOMETRIC.image(lambda points: points + 1))}
    # Drawn anew each time: a false alarm once in 10^4 runs, and an ordinary number of trials.
    report = audit_protocol(
        law_subject(library_target(laplace(library, int)), cases), ("1.05", 0), trials=4_000, level=1e-4
    )
    assert report.verdict is not Verdict.VIOLATES


@pytest.mark.parametrize("library", ["opendp", "diffprivlib"])
def test_too_small_a_claim_of_a_library_is_refuted(library: str) -> None:
    cases = {"0": (0, GEOMETRIC), "1": (1, GEOMETRIC.image(lambda points: points + 1))}
    report = audit_protocol(
        law_subject(library_target(laplace(library, int)), cases), ("0.5", 0), trials=4_000, level=1e-4
    )
    assert any(result.check.startswith("privacy of output") for result in report.violations)


BOX = {"trials": 12_000, "level": 1e-4}
"""Drawn anew each time, from the libraries' own entropy: a false alarm once in 10^4 runs."""
ENDS = np.array(0.0), np.array(1.0)


def finer(value: float) -> bool:
    """Return whether a float is no multiple of 2^-53, exactly."""
    return value.as_integer_ratio()[1] > 2**53


def test_noise_on_a_grid_finer_than_floats_hold_shows_its_input() -> None:
    """What PyDP's Gaussian noise does, without PyDP: integers of more than 53 bits, as floats, times 2^-54."""

    def noisy(value: float) -> float:
        return value + float(round(RNG.normal(0.0, 2.6) * 2**20) * 2**34 + int(RNG.integers(2**34))) * 2.0**-54

    drawn = [[noisy(value) for _ in range(2_000)] for value in (0.0, 1.0)]
    assert sum(map(finer, drawn[0])) > 50
    assert not any(map(finer, drawn[1]))
    report = audit_mechanism(library_target(noisy), (1, 1e-3), ENDS, **BOX)
    assert report.verdict is Verdict.VIOLATES
    assert any("lowest bits" in sentence for sentence in report.diagnosis)


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [(lambda: laplace("diffprivlib", float), (1, 0)), (pydp_gaussian, (1, 1e-3))],
    ids=["diffprivlib Laplace", "pydp Gaussian"],
)
def test_float_noise_that_shows_its_input_in_the_lowest_bits_is_found(mechanism: Any, claim: Any) -> None:
    noisy = mechanism()
    report = audit_mechanism(library_target(noisy), claim, ENDS, **BOX)
    assert report.verdict is Verdict.VIOLATES
    assert any("lowest bits" in sentence for sentence in report.diagnosis)
    # A second method: exact denominators. 1 plus a float is a multiple of 2^-53 wherever it is below 1/2.
    drawn = [[float(given(noisy, value)) for _ in range(2_000)] for value in (0.0, 1.0)]
    assert sum(map(finer, drawn[0])) > 50
    assert not any(map(finer, drawn[1]))
    coarse = audit_mechanism(library_target(noisy), claim, ENDS, resolution=1e-6, **BOX)
    assert coarse.verdict is not Verdict.VIOLATES


@pytest.mark.parametrize("library", ["opendp", "pydp"])
def test_noise_on_a_grid_is_not_accused(library: str) -> None:
    report = audit_mechanism(library_target(laplace(library, float)), (1, 0), ENDS, **BOX)
    assert report.verdict is not Verdict.VIOLATES


def test_the_python_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    installed("diffprivlib.mechanisms")
    page = (Path(__file__).resolve().parents[3] / "docs" / "audits_of_libraries.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL):
        exec(compile(code, "audits_of_libraries.md", "exec"), names)
    black_box, own_law = capsys.readouterr().out.splitlines()
    assert black_box.startswith("Violates: privacy of the output, ")
    assert not own_law.startswith("Violates")
