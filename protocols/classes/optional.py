"""Packages that are not everywhere: what is missing is told in one sentence, with what to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["INSTALLED_BY", "MissingPackageError", "needing"]

INSTALLED_BY = {
    "attr": "'.[accounting]'",
    "dp_accounting": "'.[accounting]'",
    "duckdb": "'.[aggregate]'",
    "filelock": "filelock",
    "jinja2": "'.[report]'",
    "matplotlib": "'.[plot]'",
    "pandas": "'.[data]'",
    "plotly": "'.[serve]'",
    "pyarrow": "'.[data]'",
    "markupsafe": "'.[report]'",
    "rich": "rich",
    "sklearn": "'.[learn]'",
    "starlette": "'.[serve]'",
    "sympy": "'.[theorems]'",
    "typer": "typer",
    "uvicorn": "'.[serve]'",
}
"""What to give to pip for a package: extras, and what the commands need and the engine does not."""


class MissingPackageError(ImportError):
    """A package is not installed: the message is one sentence, with what installs it."""


@contextmanager
def needing(what: str, by: str | None = None) -> Iterator[None]:
    """Say what to install where an import within fails for want of one of these packages.

    - what: What needs it, the start of the sentence.
    - by: What to give to pip, where that is more than the package which happens to be imported first.

    Raises MissingPackageError: In place of the error of the import, if it is one of `INSTALLED_BY` that is missing.
    Others pass.

    >>> with needing("a sum"):
    ...     import math
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in INSTALLED_BY:
            raise
        given = by or INSTALLED_BY[package]
        where = " in the folder of dpverify's source" if given.startswith("'.") else ""
        message = f"{what} needs {package}: pip install {given}{where}."
        raise MissingPackageError(message, name=error.name) from None
