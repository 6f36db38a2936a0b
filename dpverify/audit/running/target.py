"""The implementation under audit: any callable, what one call returns, and the checks of what it does return."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.audit.running.identity import code_identity, described
from dpverify.audit.running.loading import load, parts_of
from protocols.classes.frozen import dataclass

__all__ = ["ALIKE", "ReadTarget", "Runnable", "Target", "TargetError", "happened", "target_of"]

_MOST_SHOWN = 300
"""Characters of another's error that a message shows."""
ALIKE = frozenset({bool, int, float, *(np.dtype(code).type for code in "?bhilqBHILQefd")})
"""Types of numbers, of which all that numpy makes arrays of is alike."""
_FIXED = ALIKE | {str, bytes, complex, type(None)}
"""Types of what no later call can change; `_kept` knows more, and takes as long as many a target."""
_EXACT = 2**53
"""Up to here every integer is a float."""


class TargetError(ValueError):
    """The target failed, or returned something that is no output; the message names it and the trials."""


@dataclass(frozen=True)
class Target:
    """A callable that runs one protocol or mechanism on a dataset.

    - function: `function(inputs, rng)` returns the output of one run, or with `batch` `function(inputs, rng, trials)`
      those of independent runs, shape (trials, *shape). A string "module:callable" or "path/to/file.py:callable" is
      imported where it is run, also from the current directory.
    - batch: Whether the callable takes the number of trials.
    - shape: The shape of one output; () for a number.
    - name: What identifies the implementation and its parameters in a checkpoint, where its `repr` does not.
    """

    function: Callable[..., Any] | str
    batch: bool = False
    shape: tuple[int, ...] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        wanted = "must be a callable, 'module:callable' or 'path/to/file.py:callable'"
        if isinstance(self.function, str):
            if not all(parts_of(self.function)):
                raise ValueError(f"target={self.function!r} {wanted}.")
        elif not callable(self.function):
            raise TypeError(f"target={self.function!r} {wanted}.")

    @property
    def seen(self) -> tuple[int, ...]:
        """The shape of one output as an audit sees it."""
        return self.shape

    @property
    def shown(self) -> str:
        """How messages name it."""
        if self.name is not None:
            return f"target={self.name!r}"
        if isinstance(self.function, str):
            return f"target={self.function!r}"
        return f"target={re.sub(' at 0x[0-9a-f]+', '', described(self.function))}"

    def load(self) -> Callable[..., Any]:
        """Return the callable, imported where it is named by a string.

        Raises TargetError if there is no such module, no such name in it, it is no callable, or importing it fails in
        any way.
        """
        return self._loaded()[0]

    def _loaded(self) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the callable, and the module that names it if it is named."""
        if not isinstance(self.function, str):
            return self.function, ()
        try:
            module, found = load(self.function)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise TargetError(f"{self.shown} cannot be imported: {happened(error, ImportError, OSError)}") from None
        if not callable(found):
            raise TargetError(f"{self.shown} is of type {type(found).__name__}, but must be callable.")
        return found, (module.__name__,)

    def identity(self) -> dict[str, str]:
        """Return what tells this target from others, the code of all local modules that it uses included.

        Raises ValueError if only an address in memory does; pass `name` then.
        """
        function, modules = self._loaded()
        shown = self.name or (self.function if isinstance(self.function, str) else described(function))
        if " at 0x" in shown:
            raise ValueError(f"target={shown} has no lasting identity; pass Target(..., name=...) to use a checkpoint.")
        return {"target": f"{shown} batch={self.batch} shape={self.shape}", **code_identity(function, *modules)}

    def __call__(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int, where: str) -> NDArray[np.float64]:
        """Return the outputs of independent runs, shape (trials, *shape).

        Raises TargetError if the callable raises, or returns another shape, a nan, an infinity or no numbers; `where`
        says in which trials.
        """
        return self.checked(self.raw(inputs, rng, trials, where), trials, where)

    def raw(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int, where: str) -> Any:
        """Return what the callable returns in independent runs, one thing each, or for all together with `batch`.

        Raises TargetError if the callable raises.
        """
        function = self.load()
        try:
            # A copy each time: an implementation that changes its input must not change the next trial.
            if self.batch:
                raw = function(inputs.copy(), rng, trials)
            else:
                copied = inputs.copy
                raw = [
                    output if type(output := function(copied(), rng)) in _FIXED else _kept(output)
                    for _ in range(trials)
                ]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise TargetError(f"{self.shown} {happened(error, when=f'in {where}')}") from error
        return raw

    def checked(self, raw: Any, trials: int, where: str) -> NDArray[np.float64]:
        """Return outputs as floats, shape (trials, *seen).

        Raises TargetError for another shape, a nan, an infinity or no real numbers.
        """
        wanted = (trials, *self.seen)
        try:
            outputs = np.asarray(raw)
        except Exception as error:
            raise TargetError(
                f"{self.shown} returned no array of the shape {wanted} in {where}: {_one_line(error)}"
            ) from error
        if outputs.shape != wanted:
            # Of runs that were made one by one what each returned is told.
            seen, must = outputs.shape, f"{wanted}"
            if not self.batch:
                seen, must = seen[1:], f"{self.seen}" if self.seen else "a number"
            raise TargetError(f"{self.shown} returned the shape {seen} in {where}, but must return {must}.")
        if outputs.dtype.kind not in "iuf":
            raise TargetError(f"{self.shown} returned dtype {outputs.dtype} in {where}, but must return real numbers.")
        if outputs.dtype.kind != "f" and _largest(outputs) > _EXACT:
            raise TargetError(f"{self.shown} returned integers beyond 2^53 in {where}, which floats cannot hold.")
        numbers = outputs.astype(np.float64)
        finite = np.isfinite(numbers)
        if not finite.all():
            raise TargetError(
                f"{self.shown} returned {numbers[~finite][0]} in {where}, but must return finite numbers."
            )
        return numbers


def _largest(integers: NDArray[Any]) -> int:
    """Return the largest size of an entry, in Python's integers: numpy's unsigned ones have no negative."""
    return max(int(integers.max()), -int(integers.min())) if integers.size else 0


def _kept(output: Any) -> Any:
    """Return an output that the next call cannot change: a target may return the same buffer each time."""
    kind = type(output)
    if kind in _FIXED:
        return output
    if kind is tuple or kind is list:
        return kind(map(_kept, output))
    if kind is dict:
        return {_kept(key): _kept(part) for key, part in output.items()}
    if isinstance(output, np.ndarray) and not isinstance(output, np.ma.MaskedArray):
        return np.array(output)
    return copy.deepcopy(output)


def happened(error: BaseException, *plain: type[Exception], when: str = "") -> str:
    """Return a sentence's end on an exception; of a `plain` one, which speaks for itself, only its message."""
    after = f" {when}" if when else ""
    if isinstance(error, SystemExit):
        status = "" if error.code is None else f"{error.code!r}"[:_MOST_SHOWN]
        return f"called sys.exit({status}){after}."
    if isinstance(error, plain):
        return _one_line(error)
    raised = f"raised {type(error).__name__}{after}" if when else type(error).__name__
    return f"{raised}: {_one_line(error)}"


def _one_line(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    text = (text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ...") or "no message"
    return text if text.endswith(".") else f"{text}."


def _in_turn(first: Callable[..., Any], second: Callable[..., Any], outputs: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(second(first(outputs)))


Runnable = Target | Callable[..., Any] | str
"""What can run: see `Target`."""


def target_of(implementation: Runnable, shape: tuple[int, ...] = ()) -> Target:
    """Return what runs as a target, which it may be already; of this shape if not."""
    return implementation if isinstance(implementation, Target) else Target(implementation, shape=shape)


@dataclass(frozen=True)
class ReadTarget(Target):
    """A target whose outputs an audit reads through a function, which for instance numbers the cells they fall in.

    - function, batch, shape, name: As of the target itself; see `ReadTarget.of`.
    - read: Takes the outputs of a block, and returns as many.
    - added: How many columns these have more.
    """

    read: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    added: int = 0

    @classmethod
    def of(cls, target: Target, read: Callable[[NDArray[Any]], NDArray[Any]], added: int = 0) -> ReadTarget:
        """Return a target, read through a function, and before that as it is already."""
        if isinstance(target, ReadTarget) and target.read is not None:
            read, added = functools.partial(_in_turn, target.read, read), target.added + added
        return cls(target.function, target.batch, target.shape, target.name, read, added)

    @property
    def seen(self) -> tuple[int, ...]:
        """The shape of one output with the columns that are added."""
        return (*self.shape[:-1], self.shape[-1] + self.added) if self.shape else ()

    def __call__(self, inputs: NDArray[Any], rng: np.random.Generator, trials: int, where: str) -> NDArray[np.float64]:
        """Return what is read of the outputs; see `Target`."""
        outputs = Target(self.function, self.batch, self.shape, self.name)(inputs, rng, trials, where)
        return outputs if self.read is None else np.asarray(self.read(outputs), dtype=np.float64)
