"""The implementation under audit: any callable, what one call returns, and the checks of what it does return."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Target", "TargetError"]


class TargetError(ValueError):
    """The target raised, or returned something that is no output; the message names the trials."""


@dataclass(frozen=True)
class Target:
    """A callable that runs one protocol or mechanism on a dataset.

    Parameters
    ----------
    function : callable or str
        `function(inputs, rng)` returns the output of one run, or with `batch` `function(inputs, rng, trials)` those of
        independent runs, shape (trials, *shape). A string "module:callable" is imported where it is run, also from the
        current directory.
    batch : bool
        Whether the callable takes the number of trials.
    shape : tuple of int
        The shape of one output; () for a number.
    name : str, optional
        What identifies the implementation and its parameters in a checkpoint, where its `repr` does not.
    """

    function: Callable[..., Any] | str
    batch: bool = False
    shape: tuple[int, ...] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            module, colon, path = self.function.partition(":")
            if not (module and colon and path):
                raise ValueError(f"target={self.function!r} must be a callable or 'module:callable'.")
        elif not callable(self.function):
            raise TypeError(f"target={self.function!r} must be a callable or 'module:callable'.")

    def load(self) -> Callable[..., Any]:
        """Return the callable, imported where it is named by a string.

        Raises
        ------
        ValueError
            If there is no such module, no such name in it, or it is no callable.
        """
        if not isinstance(self.function, str):
            return self.function
        module, _, path = self.function.partition(":")
        # A console script, unlike `python -m`, does not look for modules where it was started.
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"target={self.function!r} cannot be imported: {error}.") from None
        if not callable(found):
            raise ValueError(f"target={self.function!r} is a {type(found).__name__}, but must be callable.")
        return found  # type: ignore[no-any-return]

    def identity(self) -> str:
        """Return what tells this target from others, its source code included where there is one.

        Raises
        ------
        ValueError
            If only an address in memory does; pass `name` then.
        """
        function = self.load()
        shown = self.name or (self.function if isinstance(self.function, str) else _described(function))
        if " at 0x" in shown:
            raise ValueError(f"target={shown} has no lasting identity; pass Target(..., name=...) to use a checkpoint.")
        try:
            source = inspect.getsource(inspect.unwrap(getattr(function, "func", function)))
        except (TypeError, OSError):
            source = ""
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        return f"{shown} batch={self.batch} shape={self.shape} source={digest}"

    def __call__(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int, where: str) -> NDArray[np.float64]:
        """Return the outputs of independent runs, shape (trials, *shape).

        Raises
        ------
        TargetError
            If the callable raises, or returns another shape, a nan, an infinity or no numbers; `where` says in which
            trials.
        """
        function = self.load()
        try:
            # A copy each time: an implementation that changes its input must not change the next trial.
            if self.batch:
                raw = function(inputs.copy(), rng, trials)
            else:
                raw = [function(inputs.copy(), rng) for _ in range(trials)]
            outputs = np.asarray(raw)
        except Exception as error:
            raise TargetError(f"target raised {type(error).__name__} in {where}: {_one_line(error)}") from error
        wanted = (trials, *self.shape)
        if outputs.shape != wanted:
            raise TargetError(f"target returned the shape {outputs.shape} in {where}, but must return {wanted}.")
        if not (np.issubdtype(outputs.dtype, np.integer) or np.issubdtype(outputs.dtype, np.floating)):
            raise TargetError(f"target returned dtype {outputs.dtype} in {where}, but must return real numbers.")
        numbers = outputs.astype(np.float64)
        finite = np.isfinite(numbers)
        if not finite.all():
            raise TargetError(f"target returned {numbers[~finite][0]} in {where}, but must return finite numbers.")
        return numbers


def _described(function: Callable[..., Any]) -> str:
    """Return the module and name of a callable, with the `repr` of what a method or a partial call is bound to."""
    if isinstance(function, functools.partial):
        held = [*function.args, *(f"{key}={value!r}" for key, value in sorted(function.keywords.items()))]
        shown = (_described(value) if inspect.isfunction(value) else str(value) for value in held)
        return f"{_described(function.func)}({', '.join(shown)})"
    bound = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", None)
    if name is None:
        return repr(function)
    if "<locals>" in name and getattr(function, "__closure__", None):
        return f"{function.__module__}.{name} at 0x{id(function):x}"
    return f"{function.__module__}.{name}" + ("" if bound is None or inspect.ismodule(bound) else f" of {bound!r}")


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or "no message"
    return text if text.endswith(".") else f"{text}."
