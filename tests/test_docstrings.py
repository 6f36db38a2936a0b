"""Public names are documented in full: what goes in, what comes out, what is refused, in which units, and an example.

numpydoc reads the docstrings; the code itself says what is returned and raised.
"""

import ast
import enum
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate

from protocols.validation import check_real

ROOT = Path(__file__).resolve().parent.parent

PACKAGES = ("dpverify", "protocols.bitsum", "protocols.lsq", "protocols.rappor")

RULES = {
    "GL08": "has no docstring",
    "PR01": "leaves a parameter out",
    "PR02": "documents a parameter that is none",
    "PR03": "has parameters in another order",
    "PR07": "has a parameter without a description",
    "PR10": "lacks a space before a colon",
    "RT01": "does not say what it returns",
    "RT03": "does not describe what it returns",
}

OURS = {"protocols.bitsum.exact_sum.ExactSum", "protocols.lsq.scaled.ScaledFeatures"}
"""Protocols that no work has: nothing to cite."""

RETURNS = {"RT01", "RT03"}
"""What a method may say in its first sentence."""


def public() -> dict[str, Any]:
    """Return what the packages name in `__all__`, by the place where it is defined."""
    found = {}
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


PUBLIC = public()


def members(cls: type) -> Iterator[str]:
    """Yield the public methods and properties that a class defines itself."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, (property, classmethod))):
            yield name


def runs(thing: Any) -> list[Any]:
    """Return the functions that run when a thing is called, but not those that it inherits: its base says of these."""
    if not inspect.isclass(thing):
        return [thing]
    own = (vars(thing).get(name) for name in ("__init__", "__post_init__"))
    return [function for function in own if inspect.isfunction(function)]


def raises(function: Any) -> bool:
    """Return whether the code of a function refuses anything: by `raise`, or by a check of `protocols.validation`."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):  # what `dataclass` writes has no source
        return False
    checks = {
        name
        for name, value in function.__globals__.items()
        if getattr(value, "__module__", None) == "protocols.validation"
    }
    return any(
        isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and getattr(node.func, "id", None) in checks)
        for node in ast.walk(tree)
    )


def unsourced(name: str, thing: Any) -> bool:
    """Return whether neither a protocol nor its module cites a work, as what is ours does not."""
    text = f"{inspect.getdoc(thing)} {sys.modules[thing.__module__].__doc__}"
    return name.startswith("protocols.") and name not in OURS and not re.search(r"[a-z]+(?:19|20)\d\d|_lecture\d", text)


def gaps(name: str, thing: Any) -> Iterator[str]:
    """Yield what the docstring of a public name lacks, one sentence each."""
    constants = inspect.isclass(thing) and issubclass(thing, enum.Enum)  # whose parameters are those of a lookup
    chosen = {code for code in RULES if not (constants and code.startswith("PR"))}
    for code, message in validate(name)["errors"]:
        if code in chosen:
            yield f"{RULES[code]}: {message}"
    text = inspect.getdoc(thing) or ""
    parsed = NumpyDocString(text)
    if not parsed["Raises"] and any(map(raises, runs(thing))):
        yield "does not say what it raises"
    if any("epsilon" in parameter.name for parameter in parsed["Parameters"]) and not re.search(r"\bnats?\b", text):
        yield "does not say that epsilon is in nats"
    for section in ("Parameters", "Returns", "Attributes"):
        for entry in parsed[section]:
            if "array" in entry.type and not re.search(r"\bshapes?\b", " ".join([entry.type, *entry.desc])):
                yield f"does not give the shape of {entry.name or 'what it returns'}"
    if unsourced(name, thing):
        yield "cites no source"
    linked = [link for link in re.findall(r"(?:docs|notebooks)/\w+\.\w+", text) if (ROOT / link).exists()]
    shown_elsewhere = constants or (inspect.isclass(thing) and issubclass(thing, Exception))  # where they are used
    if ">>>" not in text and not linked and not shown_elsewhere:
        yield "has no example, and leads to none"


def incomplete(epsilon: Any, delta: float) -> float:
    """Add.

    Parameters
    ----------
    epsilon : array_like
        In (0, inf).
    """
    check_real("delta", delta, low=0.0)
    return epsilon + delta


def test_what_is_missing_is_found() -> None:
    assert [gap.split(":")[0] for gap in gaps("tests.test_docstrings.incomplete", incomplete)] == [
        "leaves a parameter out",
        "does not say what it returns",
        "does not say what it raises",
        "does not say that epsilon is in nats",
        "does not give the shape of epsilon",
        "has no example, and leads to none",
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLIC)
def test_the_docstring_is_complete(name: str) -> None:
    assert list(gaps(name, PUBLIC[name])) == []


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isclass(thing)])
def test_methods_are_documented(name: str) -> None:
    """A sentence at least; parameters, where they are listed, are all listed."""
    for member in members(PUBLIC[name]):
        text = inspect.getdoc(getattr(PUBLIC[name], member)) or ""
        assert text, f"{name}.{member} has no docstring"
        if "Parameters\n---" in text and vars(PUBLIC[name])[member].__doc__:
            wrong = [
                message
                for code, message in validate(f"{name}.{member}")["errors"]
                if code in RULES and code[:2] == "PR"
            ]
            assert wrong == [], f"{name}.{member}"
