"""The implementation under audit: what it is given, and which outputs are taken."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from dpverify.audit.running.target import ReadTarget, Target, TargetError, happened

INPUTS, WHERE = np.array([1, 2]), "trials [0, 3) of dataset 0"


def run(function: Any, **options: Any) -> np.ndarray:
    return Target(function, **options)(INPUTS, np.random.default_rng(1), 3, WHERE)


def test_each_run_gets_the_generator_and_an_input_of_its_own() -> None:
    def greedy(inputs: np.ndarray, rng: np.random.Generator) -> float:
        inputs += 1
        return float(inputs.sum() + rng.random())

    rng = np.random.default_rng(1)
    assert run(greedy).tolist() == [5 + rng.random() for _ in range(3)]
    rows = run(lambda inputs, rng, trials: rng.random((trials, 2)), batch=True, shape=(2,))
    assert rows.tolist() == np.random.default_rng(1).random((3, 2)).tolist()
    assert INPUTS.tolist() == [1, 2]


def test_an_output_cannot_be_changed_by_the_next_run() -> None:
    buffer = np.zeros(2)

    def reuses(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        buffer[...] += 1
        return buffer

    assert run(reuses, shape=(2,)).tolist() == [[1, 1], [2, 2], [3, 3]]
    record, parts = np.zeros(1, dtype=[("a", float)]), [0]
    held = {"a": (parts, record[0]), "b": [parts]}

    def again(inputs: np.ndarray, rng: np.random.Generator) -> dict[str, object]:
        record["a"] += 1
        parts[0] += 1
        return held

    kept = Target(again).raw(INPUTS, np.random.default_rng(1), 2, WHERE)
    assert [str(output) for output in kept] == [
        f"{{'a': ([{k}], np.void(({k}.0,), dtype=[('a', '<f8')])), 'b': [[{k}]]}}" for k in (1, 2)
    ]
    parts.append(parts)  # type: ignore[arg-type]
    with pytest.raises(TargetError, match="raised RecursionError in trials"):
        Target(lambda inputs, rng: parts).raw(INPUTS, np.random.default_rng(1), 2, WHERE)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (float("nan"), f"returned nan in {WHERE}, but must return finite numbers."),
        (float("inf"), f"returned inf in {WHERE}, but must return finite numbers."),
        ([1.0, 2.0], f"returned the shape (2,) in {WHERE}, but must return a number."),
        ("five", f"returned dtype <U4 in {WHERE}, but must return real numbers."),
        (None, f"returned dtype object in {WHERE}, but must return real numbers."),
        (1j, f"returned dtype complex128 in {WHERE}, but must return real numbers."),
        (True, f"returned dtype bool in {WHERE}, but must return real numbers."),
        (2**53 + 1, f"returned integers beyond 2^53 in {WHERE}, which floats cannot hold."),
        (np.int64(-(2**63)), f"returned integers beyond 2^53 in {WHERE}, which floats cannot hold."),
    ],
)
def test_bad_outputs_are_named(returned: Any, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        run(lambda inputs, rng: returned, name="mine")
    assert str(caught.value) == f"target='mine' {message}"


def test_numbers_that_floats_hold_are_taken() -> None:
    for number in (-(2**53), np.uint64(2**53), np.float32(0.5), 3):
        assert run(lambda inputs, rng, number=number: number).tolist() == [float(number)] * 3
    ragged = iter([[1], [1, 2], [3]])
    with pytest.raises(TargetError, match=r"returned no array of the shape \(3,\) in trials \[0, 3\) of dataset 0: "):
        Target(lambda inputs, rng, trials: list(ragged), batch=True)(INPUTS, np.random.default_rng(1), 3, WHERE)


def test_whatever_is_raised_is_one_sentence() -> None:
    def raising(error: BaseException, inputs: np.ndarray, rng: np.random.Generator) -> float:
        raise error

    for error, said in (
        (ValueError("no\n luck"), f"raised ValueError in {WHERE}: no luck."),
        (SystemExit(3), f"called sys.exit(3) in {WHERE}."),
        (SystemExit(), f"called sys.exit() in {WHERE}."),
        (GeneratorExit(), f"raised GeneratorExit in {WHERE}: no message."),
        (RuntimeError("x" * 400), f"raised RuntimeError in {WHERE}: {'x' * 300} ..."),
    ):
        with pytest.raises(TargetError) as caught:
            run(partial(raising, error), name="mine")
        assert str(caught.value) == f"target='mine' {said}"
    with pytest.raises(KeyboardInterrupt):
        run(partial(raising, KeyboardInterrupt()))
    assert happened(ImportError("no such thing"), ImportError) == "no such thing."
    assert happened(ValueError("a. b."), ImportError) == "ValueError: a. b."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("math:nothing", "cannot be imported: module 'math' has no attribute 'nothing'."),
        ("no_such_module_here:f", "cannot be imported: No module named 'no_such_module_here'."),
        ("./no_such_file.py:f", "cannot be imported: there is no file './no_such_file.py'."),
        ("math:pi", "is of type float, but must be callable."),
    ],
)
def test_what_a_name_does_not_lead_to(name: str, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        Target(name).load()
    assert str(caught.value) == f"target={name!r} {message}"


def test_no_target_at_all() -> None:
    for name in ("math", "math:", ":sqrt"):
        with pytest.raises(ValueError, match=rf"^target='{name}' must be a callable, 'module:callable' or "):
            Target(name)
    with pytest.raises(TypeError, match=r"^target=3 must be a callable"):
        Target(3)  # type: ignore[arg-type]


def test_a_target_is_known_by_its_name_and_how_it_is_called() -> None:
    plain, batch = Target("math:hypot").identity(), Target("math:hypot", batch=True, shape=(2,)).identity()
    assert plain["target"] == "math:hypot batch=False shape=()"
    assert batch["target"] == "math:hypot batch=True shape=(2,)"
    value = 3.0
    closure = Target(lambda inputs, rng: value)
    with pytest.raises(ValueError, match=r"^target=.* has no lasting identity; pass Target\(\.\.\., name=\.\.\.\) to"):
        closure.identity()
    assert "0x" not in closure.shown
    assert Target(closure.function, name="mine").identity()["target"] == "mine batch=False shape=()"


def test_outputs_can_be_read_through_a_function() -> None:
    inner = Target(lambda inputs, rng, trials: inputs[0] + np.arange(trials), batch=True, name="counts")
    read = ReadTarget.of(inner, lambda outputs: outputs // 2)
    assert read(np.array([4.0]), np.random.default_rng(1), 4, "here").tolist() == [2.0, 2.0, 3.0, 3.0]
    assert read.shown == inner.shown
