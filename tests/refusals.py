"""What tests ask of an error: its type, and the argument that its sentence begins with."""

import re
from typing import Any

import pytest

__all__ = ["refused"]


def refused(argument: str, error: type[Exception] = ValueError) -> Any:
    """Return a context that expects an error about an argument, `name` or `name=value`.

    The sentences themselves stand in `tests/golden/`, as commands say them.
    """
    return pytest.raises(error, match=rf"^{re.escape(argument)}(?!\w)")
