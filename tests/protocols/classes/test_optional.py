"""What is missing is told in one sentence, with what to install."""

import pytest

from protocols.classes.optional import MissingPackageError, needing


def test_it_says_what_to_give_to_pip() -> None:
    missing = ModuleNotFoundError("No module named 'rich.table'", name="rich.table")
    with pytest.raises(MissingPackageError, match=r"^A test needs rich: pip install rich\.$"), needing("A test"):
        raise missing
    sentence = r"^A test needs rich: pip install '\.\[x,y\]' in the folder of dpverify's source\.$"
    with pytest.raises(MissingPackageError, match=sentence), needing("A test", "'.[x,y]'"):
        raise missing


def test_other_errors_pass() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"), needing("A test"):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401
