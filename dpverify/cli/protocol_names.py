"""The names of protocols as they may be typed: in any case of letters, and also by former names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["bitsums", "either", "known_name", "shuffled"]

_FORMER = {
    "gaussian": "central-gaussian",
    "discrete-gaussian": "central-discrete-gaussian",
    "discrete-laplace": "central-discrete-laplace",
}
"""Names that some commands once had for what others call by the full name."""


def bitsums() -> tuple[str, ...]:
    """Return the names of the bitsums, those of installed packages too; none of them is imported."""
    from dpverify.claims.registry import Group, registered

    return tuple(registered(Group.BITSUMS))


def shuffled() -> tuple[str, ...]:
    """Return the names of those that learners may be built on."""
    from dpverify.claims.registry import Group, registered

    return registered(Group.BITSUMS).shuffled


def either(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    return " or ".join([*filter(None, [", ".join(names[:-1])]), names[-1]])


def known_name(text: str, known: Iterable[str]) -> str | None:
    """Return which of the known names a text means, or None."""
    names = {str(name).lower(): name for name in known}
    typed = text.lower()
    return names.get(typed, names.get(_FORMER.get(typed, "")))
