"""The names of protocols as they may be typed: in any case of letters, and also by former names."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["BITSUMS", "known_name"]

BITSUMS = (
    "rr",
    "3nb",
    "nb",
    "poisson",
    "pure",
    "central-gaussian",
    "central-discrete-laplace",
    "central-discrete-gaussian",
    "local-rr",
)
"""Our own, for help texts: what names them for certain is slow to import, and may know more from other packages."""

_FORMER = {
    "gaussian": "central-gaussian",
    "discrete-gaussian": "central-discrete-gaussian",
    "discrete-laplace": "central-discrete-laplace",
}
"""Names that some commands once had for what others call by the full name."""


def known_name(text: str, known: Iterable[str]) -> str | None:
    """Return which of the known names a text means, or None."""
    names = {str(name).lower(): name for name in known}
    typed = text.lower()
    return names.get(typed, names.get(_FORMER.get(typed, "")))
