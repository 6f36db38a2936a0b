"""`import dpverify` offers what people look for, and costs nothing until it is used."""

import ast
import importlib
import pkgutil
import pydoc
import re
from pathlib import Path

import pytest

import dpverify
from tests.test_startup import EVERYTHING, imported

ESTIMATORS = {"HighestDensityClassifier", "PrivateDensity", "PrivateDensityClassifier", "PrivateDiscriminant"}


def shown_to_type_checkers() -> dict[str, str]:
    """Return the home of every name that mypy and editors see in the front door."""
    tree = ast.parse(Path(str(dpverify.__file__)).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def test_type_checkers_and_interpreters_see_the_same_names() -> None:
    assert shown_to_type_checkers() == dpverify._HOME_OF
    assert set(dpverify._HOME_OF) - set(dpverify.__all__) == ESTIMATORS
    assert set(dpverify.__all__) <= set(dpverify._HOME_OF) <= set(dir(dpverify))
    assert not {"TYPE_CHECKING", "annotations", "importlib"} & set(dir(dpverify))


@pytest.mark.parametrize("name", dpverify._HOME_OF)
def test_a_name_is_what_its_home_says(name: str) -> None:
    home = importlib.import_module(dpverify._HOME_OF[name])
    assert getattr(dpverify, name) is getattr(home, name)
    assert name in home.__all__  # type: ignore[attr-defined]


def test_no_name_is_a_submodules() -> None:
    # Importing dpverify.audit sets the attribute `audit`, whatever it was before.
    assert not {module.name for module in pkgutil.iter_modules(dpverify.__path__)} & set(dpverify.__all__)


def test_what_is_not_there_is_told() -> None:
    with pytest.raises(AttributeError, match=r"'dpverify' has no attribute 'epsilon'; dir\(dpverify\) lists"):
        _ = dpverify.epsilon  # type: ignore[attr-defined]
    assert not hasattr(dpverify, "__wrapped__")


def test_a_name_costs_what_its_home_costs() -> None:
    heavy = EVERYTHING - {"flint", "mpmath"}
    assert not imported("import dpverify\ndpverify.Budget\ndir(dpverify)") & EVERYTHING
    assert imported("import dpverify\ndpverify.RandomizedResponse") & heavy  # or the line above would say nothing


def test_help_shows_the_three_uses() -> None:
    text = pydoc.render_doc(dpverify, renderer=pydoc.plaintext)
    first_screens = text[: text.index("PACKAGE CONTENTS")]
    for use in ("From a budget to parameters", "keeps its promise", "For readers"):
        assert use in first_screens
    for name in ("plan", "account", "plan_bitsums", "audit_protocol", "theorems", "hockey_stick", "Budget"):
        assert name in first_screens


def test_help_names_all_that_there_is() -> None:
    told = (dpverify.__doc__ or "").partition("All names")[2].partition("Budgets are")[0]
    names = set(re.findall(r"\w+", told))
    assert names >= {*dpverify.__all__, *dpverify._HOME_OF}
    assert all(hasattr(dpverify, name) for name in names if re.search(r"[a-z][A-Z]|_", name))
