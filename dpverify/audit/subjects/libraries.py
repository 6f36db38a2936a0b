"""Mechanisms of other libraries as targets: what takes the value alone, and brings its own randomness.

No library is imported here: what is told apart is how a mechanism is called, so that one that is not installed costs
nothing, and one that is called in the same way needs no line of its own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.target import Target

__all__ = ["library_target", "takes_the_value_alone"]

_CALLS = ("randomise", "add_noise", "quick_result")
"""How a mechanism is called, if not by itself: in diffprivlib; noise, and an algorithm on a list, in PyDP."""


def library_target(mechanism: Any, *, shape: tuple[int, ...] = (), name: str | None = None) -> Target:
    """Return a mechanism of another library as a target.

    - mechanism: A measurement of OpenDP, or any other callable of one argument; a mechanism of diffprivlib
      (`randomise`); one of PyDP (`add_noise`), or an algorithm of PyDP (`quick_result`). It is given an input without
      axes as a number or a word, any other as a list.
    - shape: The shape of one output; () for a number or a word.
    - name: How messages and checkpoints name it.

    Returns: It draws from the library's own randomness: the seed of an audit then fixes the tests, not the outputs.
    Raises TypeError if there is no such way to call it.

    >>> import numpy as np
    >>> target = library_target(abs)
    >>> target(np.array(-2), np.random.default_rng(), 3, "trials 0 to 2")
    array([2., 2., 2.])
    """
    call = _way_to_call(mechanism)
    if call is None:
        raise TypeError(f"mechanism={mechanism!r} must be a callable of one argument, or have one of {_CALLS}.")
    return Target(functools.partial(_called, call), shape=shape, name=name)


def takes_the_value_alone(mechanism: Any) -> bool:
    """Return whether something is called with the value alone, without a generator, as `library_target` does.

    A callable whose parameters cannot be told is taken to want both.
    """
    call = _way_to_call(mechanism)
    if call is None or isinstance(mechanism, Target):
        return False
    if call is not mechanism:
        return True
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return False
    return _binds(signature, 1) and not _binds(signature, 2)


def _binds(signature: inspect.Signature, arguments: int) -> bool:
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True


def _way_to_call(mechanism: Any) -> Callable[[Any], Any] | None:
    ways = (getattr(mechanism, name, None) for name in _CALLS)
    return next((way for way in (*ways, mechanism) if callable(way)), None)


def _called(call: Callable[[Any], Any], inputs: NDArray[Any], rng: np.random.Generator) -> Any:
    # OpenDP and PyDP refuse numpy's numbers.
    return call(inputs.tolist())
