"""What is taken as which argument, and the one sentence for what is not."""

import inspect
import math
import re
from dataclasses import astuple, dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpverify
from dpverify.guarantee import ThreatModel
from protocols.lsq import LaplacianBinning
from protocols.validation import (
    budget_by_name,
    check_bits,
    check_choice,
    check_counts,
    check_flag,
    check_generator,
    check_integer,
    check_participants,
    check_probability,
    check_ranges,
    check_real,
    check_vectors,
    meant,
    plain_numbers,
)
from tests.refusals import refused


def test_real_numbers_of_every_kind_are_floats() -> None:
    for value in (1, 1.0, Fraction(1), np.float32(1), np.int64(1), np.float64(1)):
        found = check_real("x", value, low=1.0, high=1.0)
        assert (type(found), found) == (float, 1.0)


@pytest.mark.parametrize("value", [True, np.True_, "1", None, 1j, Decimal(1), [1]])
def test_no_real_number(value: Any) -> None:
    with pytest.raises(TypeError) as caught:
        check_real("x", value, low=0.0)
    assert str(caught.value) == f"x={value!r} must be a real number in [0, inf)."


@pytest.mark.parametrize(
    ("value", "limits", "shown"),
    [
        (-1e-300, {"low": 0.0}, "[0, inf)"),
        (0.0, {"low": 0.0, "low_open": True}, "(0, inf)"),
        (1.0, {"high": 1.0, "high_open": True}, "(-inf, 1)"),
        (1.5, {"low": 0.0, "high": 1.0}, "[0, 1]"),
        (math.inf, {}, "(-inf, inf)"),
        (-math.inf, {"high": 1.0}, "(-inf, 1]"),
        (math.nan, {"low": 0.0, "high": 1.0, "low_open": True, "high_open": True}, "(0, 1)"),
    ],
)
def test_outside_a_range(value: float, limits: dict[str, Any], shown: str) -> None:
    with pytest.raises(ValueError, match=r"must be") as caught:
        check_real("x", value, **limits)
    assert str(caught.value) == f"x={value!r} must be a finite number in {shown}."


def test_the_ends_of_a_range_belong_to_it_unless_said() -> None:
    assert check_real("x", 0, low=0.0) == 0.0
    assert check_real("x", math.nextafter(0, 1), low=0.0, low_open=True) > 0.0
    assert check_real("x", 1, high=1.0) == 1.0
    assert check_probability("p", 1.0) == 1.0
    assert check_probability("p", 0, high=0.5) == 0.0
    for limits, shown in (({"high": 0.5, "high_open": True}, "[0, 0.5)"), ({"high": 0.25}, "[0, 0.25]")):
        with pytest.raises(ValueError, match=r"^p=0\.5 must be") as caught:
            check_probability("p", 0.5, **limits)
        assert str(caught.value).endswith(f"{shown}.")


def test_integers() -> None:
    for value in (3, np.int8(3)):
        found = check_integer("n", value, low=3, high=3)
        assert (type(found), found) == (int, 3)
    for bad in (True, np.False_, 3.0, "3", None, np.float64(3)):
        with refused("n", TypeError):
            check_integer("n", bad, low=1)
    for bad, limits, shown in (
        (0, {"low": 1}, "[1, inf)"),
        (9, {"high": 8}, "(-inf, 8]"),
        (9, {"low": 1, "high": 8}, "[1, 8]"),
    ):
        with pytest.raises(ValueError, match=r"^n=") as caught:
            check_integer("n", bad, **limits)
        assert str(caught.value) == f"n={bad} must be an integer in {shown}."


def test_the_ends_of_a_range_are_told_exactly() -> None:
    for high, shown in ((10**6, "1e+06"), (1_234_567, "1234567"), (2**53, "9007199254740992"), (200_000, "200000")):
        with pytest.raises(ValueError, match=rf"^n=-1 must be an integer in \[0, {re.escape(shown)}\]\.$"):
            check_integer("n", -1, low=0, high=high)


def test_participants_are_at_most_the_users() -> None:
    check_participants("bits", 5, 5)
    with pytest.raises(ValueError, match=r"^bits holds 6 users, but must hold at most users=5: .*\.$"):
        check_participants("bits", 6, 5)


def test_a_word_is_found_in_any_case_and_told_if_unknown() -> None:
    assert check_choice("model", "CENTRAL", ThreatModel) is ThreatModel.CENTRAL
    assert check_choice("model", ThreatModel.LOCAL, ["local"]) == "local"
    for bad in ("", "remote", None, 1):
        with refused("model"):
            check_choice("model", bad, ThreatModel, where=" here")
    with refused("word='model'"):
        check_choice("word", ThreatModel.MODEL, ["a", "b"])


def test_generators() -> None:
    rng = np.random.default_rng(1)
    assert check_generator("rng", rng) is rng
    for bad in (7, None, np.random.RandomState(7)):
        with refused("rng", TypeError):
            check_generator("rng", bad)


def test_bits() -> None:
    for bits in ([1, 0], (True, False), np.array([1.0, 0.0])):
        found = check_bits("bits", bits)
        assert found.dtype == np.int64
        assert found.tolist() == [1, 0]
    assert check_bits("bits", []).shape == (0,)
    for bad in ([0, 1, 3, 4], [1, 1, 0.5], [0, 0, math.nan], ["0", "1", "x"], [0, 1, None]):
        with pytest.raises(ValueError, match=r"^bits\[\d\]=.* must be 0 or 1\.$") as caught:
            check_bits("bits", bad)
        assert str(caught.value).startswith("bits[2]=" if bad[0] == 0 or bad[0] == 1 else "bits[0]=0 ")
    with pytest.raises(ValueError, match=r"^bits has shape \(1, 2\), but must have shape \(users,\)\.$"):
        check_bits("bits", [[0, 1]])


def test_vectors() -> None:
    found = check_vectors("x", [[1, 2]], dimension=2)
    assert found.dtype == np.float64
    check_vectors("x", [[3.0, 4.0]])
    check_vectors("x", [[0.6, 0.8005]], unit=True)
    check_vectors("x", np.array([[0.6, 0.8]], dtype=np.float16), unit=True)
    for bad, options, said in (
        ([1.0, 2.0], {}, "x has shape (2,), but must have shape (points, dimension)."),
        ([[1.0, 2.0]], {"dimension": 3}, "x has shape (1, 2), but must have shape (points, 3)."),
        ([[0.0, 1.0], [0.0, math.inf]], {}, "x[1, 1]=inf must be a finite number, not NaN or infinity."),
        ([[math.nan, 1.0]], {}, "x[0, 0]=nan must be a finite number, not NaN or infinity."),
        ([[0.6, 0.8], [3.0, 4.0]], {"unit": True}, "x[1] has Euclidean norm 5, but must have norm 1 within 0.001 "),
        ([[0.6, 0.7]], {"unit": True, "tolerance": 0.05}, "x[0] has Euclidean norm 0.921954, but must have norm 1 "),
    ):
        with pytest.raises(ValueError, match=r"^x") as caught:
            check_vectors("x", bad, **options)
        assert str(caught.value).startswith(said)


def test_flags() -> None:
    assert check_flag("signed", True) is check_flag("signed", np.bool_(True)) is True
    for bad in ("yes", 1, None):
        with pytest.raises(TypeError, match=rf"^signed={bad!r} must be True or False\.$"):
            check_flag("signed", bad)
        with pytest.raises(TypeError, match=rf"^signed={bad!r} must be True or False\.$"):
            LaplacianBinning(2, signed=bad)


def test_a_field_states_its_range_once() -> None:
    @dataclass(frozen=True)
    class Made:
        count: int = field(default=1, metadata={"within": "[1, inf)"})
        share: float = field(default=0.25, metadata={"within": "[0, 1/2)"})
        free: float = -1.0

    check_ranges(Made())
    check_ranges(Made(free=math.nan))
    for wrong, said in (
        ({"count": 0}, r"^count=0 must be an integer in \[1, inf\)\.$"),
        ({"share": 0.5}, r"^share=0\.5 must be a finite number in \[0, 0\.5\)\.$"),
        ({"share": -0.1}, r"^share=-0\.1 must be"),
    ):
        with pytest.raises(ValueError, match=said):
            check_ranges(Made(**wrong))
    with refused("count=1.5", TypeError):
        check_ranges(Made(count=1.5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "told"),
    [("poison", " (did you mean 'Poisson'?)"), ("POISSON", " (did you mean 'Poisson'?)"), ("xyz", ""), (7, "")],
)
def test_a_word_that_is_near_is_told(typed: object, told: str) -> None:
    assert meant(typed, ["rr", "Poisson"]) == told
    with pytest.raises(ValueError, match=r"must be one of rr, nb") as raised:
        check_choice("name", "po", ["rr", "nb"])
    assert str(raised.value) == "name='po' must be one of rr, nb."


def test_counts_are_integers_and_not_negative() -> None:
    assert check_counts("view", [[3, 0]]).tolist() == [[3, 0]]
    with pytest.raises(TypeError, match=r"^view has dtype float64, but must hold integers in \[0, inf\)\.$"):
        check_counts("view", [1.0])
    with pytest.raises(ValueError, match=r"^view contains -2, but counts must be in \[0, inf\)\.$"):
        check_counts("view", [1, -2])


def test_numbers_of_numpy_and_fractions_become_plain() -> None:
    @dataclass(frozen=True)
    class Made:
        users: int
        p: float
        name: str

    made = Made(np.int64(3), Fraction(1, 4), "x")  # type: ignore[arg-type]
    plain_numbers(made)
    assert [(type(value), value) for value in astuple(made)] == [(int, 3), (float, 0.25), (str, "x")]


def test_a_budget_may_be_given_by_the_names_of_its_parts() -> None:
    @budget_by_name
    def found(bitsum: str, budget: tuple[str, float], *, users: int = 1) -> object:
        return bitsum, budget, users

    anyhow: Any = found
    assert anyhow("rr", epsilon="2", delta=0.5) == ("rr", ("2", 0.5), 1) == anyhow("rr", ("2", 0.5))
    alone: list[dict[str, Any]] = [{"epsilon": 1}, {"delta": 0}]
    for given, named in [((), one) for one in [*alone, {"epsilon": 1, "delta": 0, "budget": (1, 0)}]] + [
        (((1, 0),), one) for one in alone
    ]:
        with pytest.raises(TypeError, match=r"^found\(\) must have budget=\(epsilon, delta\), or both"):
            anyhow("rr", *given, **named)
    with pytest.raises(TypeError, match=r"no argument 'user' \(did you mean 'users'\?\)\.$"):
        anyhow("rr", (1, 0), user=3)


def test_every_public_budget_may_be_given_by_name() -> None:
    for name in dpverify.__all__:
        function: Any = getattr(dpverify, name)
        if inspect.isfunction(function) and "budget" in inspect.signature(function).parameters:
            with pytest.raises(TypeError, match="or both epsilon and delta"):
                function(epsilon=1)
