"""`dpverify audit` of densities and learners: faults are found out, and what is too large is refused."""

import numpy as np
import pytest

from dpverify import cli

HERE = "tests.cli.audits.test_learners"
DENSITY = ["--users", "3", "--kernel", "gaussian", "--dimension", "1", "--flip-probability", "0.2", "--bits", "2"]
CLASSES = ["--users", "4", "--flip-probability", "0.2", "--label-epsilon", "1", "--bits", "1"]
COMMANDS = {
    "kde": DENSITY,
    "decoding": [*DENSITY[:5], "2", *DENSITY[6:]],
    "classifier": CLASSES,
    "user-level-classifier": ["--users", "4", "--epsilon", "1", "--model", "local"],
}


def ones(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.ones(2)


def a_word(inputs: np.ndarray, rng: np.random.Generator) -> list[int]:
    return [1]


def nobody(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.zeros(4)


def the_last(inputs: np.ndarray, rng: np.random.Generator) -> int:
    return 3


TARGETS = {"kde": ones, "decoding": a_word, "classifier": nobody, "user-level-classifier": the_last}


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_right_is_undecided_and_a_target_that_is_not_is_named(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["audit", name, *COMMANDS[name], "--trials", "100"]
    assert cli.main([*words, "--seed", "2"]) == 3
    assert cli.main([*words, "--target", f"{HERE}:{TARGETS[name].__name__}"]) == 1
    assert "Violates: " in " ".join(capsys.readouterr().out.split())
