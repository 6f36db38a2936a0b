"""The examples in the docstrings of all public names run, and print what they say."""

import doctest
import inspect
import sys
from typing import Any

import pytest

import dpverify
from tests.test_docstrings import PUBLIC

EXAMPLES = [name for name, thing in PUBLIC.items() if ">>>" in (inspect.getdoc(thing) or "")]


def run(thing: Any, name: str, names: dict[str, Any]) -> doctest.TestResults:
    """Run the examples of one docstring, those of members apart, and print what differs."""
    (test,) = doctest.DocTestFinder(recurse=False).find(thing, name, globs=dict(names))
    return doctest.DocTestRunner().run(test)


def test_an_example_that_is_wrong_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    def wrong() -> None:
        """Add.

        >>> 1 + 1
        3
        """

    assert run(wrong, "wrong", {}).failed == 1
    assert "Expected" in capsys.readouterr().out


def test_the_three_uses() -> None:
    found = run(dpverify, "dpverify", {})
    assert (found.failed, found.attempted >= 6) == (0, True)


SLOW = {f"dpverify.planning.kernels.least_density.least_density_{of}" for of in ("users", "epsilon")}
"""Half a dozen plans each, whose answers tests of that module look at."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in EXAMPLES])
def test_the_examples_of(name: str) -> None:
    thing = PUBLIC[name]
    found = run(thing, name, vars(sys.modules[thing.__module__]))
    assert found.attempted > 0
    assert found.failed == 0
