"""What is an output made of? Its parts by their names, down to the bits of bytes and integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["bits_of", "numbers_of", "parts_of"]

_MOST = 4096
_BITS = 16


def parts_of(output: Any) -> dict[str, Any]:
    """Return the parts of an output, up to 4,096, by what they are called: `output[2]['total']`."""
    return {name: part for _, (name, part) in zip(range(_MOST), _walked("output", output), strict=False)}


def numbers_of(parts: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers among parts."""
    return {
        name: float(part) for name, part in parts.items() if isinstance(part, (int, float)) and abs(part) < 2.0**1000
    }


def bits_of(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return parts with those of bytes, and of integers the lowest 16, taken apart into bits."""
    found: dict[str, Any] = {}
    for name, part in parts.items():
        if isinstance(part, bytes):
            found[f"the length of {name}"] = len(part)
            for at, byte in enumerate(part[:_MOST]):
                found.update({f"bit {k} of byte {at} of {name}": byte >> k & 1 for k in range(8)})
        elif isinstance(part, int) and not isinstance(part, bool):
            found.update({f"bit {k} of {name}": part >> k & 1 for k in range(_BITS)})
        else:
            found[name] = part if part == part else "nan"  # which is equal to itself
    return found


def _walked(name: str, output: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(output, np.generic) or (isinstance(output, np.ndarray) and not output.ndim):
        output = output.item()
    if isinstance(output, Mapping):
        yield f"the keys of {name}", repr(sorted(map(repr, output)))
        for key, part in output.items():
            yield from _walked(f"{name}[{key!r}]", part)
    elif isinstance(output, (list, tuple, np.ndarray)):
        yield f"the length of {name}", len(output)
        for at, part in enumerate(output):
            yield from _walked(f"{name}[{at}]", part)
    elif isinstance(output, (set, frozenset)):
        yield name, repr(sorted(map(repr, output)))
    elif isinstance(output, (str, bytes, bytearray, int, float)) or output is None:
        yield name, bytes(output) if isinstance(output, bytearray) else output
    else:
        yield name, repr(output)
