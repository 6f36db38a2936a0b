"""Commands for protocols of installed packages, with an option for each field of the protocol's class.

They are listed from the names of entry points alone; the package is imported for the command that is typed.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any, get_type_hints

import typer

from dpverify.cli.messages import as_typed
from dpverify.cli.options import integer, number

__all__ = ["add_plugins"]

_OWN = {
    "labels": "Randomized response among classes, published by each user.",
    "rr-mean": "Mean of levels, reported by randomized response.",
    "one-bit-mean": "Mean of bounded values, from one bit per user.",
    "laplace-mean": "Mean of bounded values, with Laplace noise from every user.",
    "discrete-laplace-mean": "Mean of bounded values, rounded, with discrete Laplace noise from every user.",
    "central-laplace-mean": "Mean of bounded values, with a trusted curator's Laplace noise.",
    "shuffled-mean": "Mean of bits, from shuffled randomized response.",
    "rappor": "Strings through a Bloom filter, flipped once and then for every report.",
    "rappor-permanent": "The bits that RAPPOR remembers: the limit of many reports.",
    "hadamard-selection": "The value that most users hold, from one randomized bit of each.",
    "exponential-selection": "The value that most users hold, by a trusted curator's exponential mechanism.",
}
"""Mechanisms of ours that need no command of their own, as the fields of their classes say it all; their help."""
Run = Callable[..., None]
"""`run(protocol, **options)`, with the options of the command as annotated parameters behind the protocol."""


def add_plugins(program: Any, words: Sequence[str], runs: dict[str, tuple[Run, Run]]) -> None:
    """Add, to each of these groups of commands that is there, one command for every further protocol.

    Parameters
    ----------
    program : click.Group
        The command line.
    words : sequence of str
        What was typed.
    runs : dict of str to (Run, Run)
        By name of the group: of our own mechanisms, and of others.
    """
    from dpverify.claims.registry import Group, registered

    # An option for a field is called alike in every group: after the field, unless a group has one of that name.
    taken = {option for pair in runs.values() for run in pair for option in inspect.signature(run).parameters}
    names = [*registered(Group.BITSUMS).others, *_OWN, *registered(Group.MECHANISMS).others]
    for group, (own, other) in ((group, run) for group, run in runs.items() if group in program.commands):
        for name in names:
            run = own if name in _OWN else other
            asked = [word.casefold() for word in words[:2]] == [group, name.casefold()]
            program.commands[group].add_command(_command(name, run if asked else None, taken), name)


def _command(name: str, run: Run | None, taken: set[str]) -> Any:
    """Return a command, without options unless it will run: these need the package to be imported."""

    def listed() -> None:
        pass

    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, help=_OWN.get(name, "By the fields of its class; see its own documentation."))(
        listed if run is None else _with_options(name, run, taken)
    )
    return typer.main.get_command(single)


def _with_options(name: str, run: Run, taken: set[str]) -> Callable[..., None]:
    from dpverify.claims.registry import claims_named

    protocol = claims_named(name).protocol
    common = list(inspect.signature(run).parameters.values())[1:]
    hints = get_type_hints(run, localns={"BitsumProtocol": object}, include_extras=True)
    own = {field.name if field.name not in taken else f"{name}_{field.name}": field for field in _fields(protocol)}

    def command(**options: Any) -> None:
        parameters = {field.name: options.pop(option) for option, field in own.items()}
        try:
            made = protocol(**parameters)
        except ValueError as error:
            shown = {field.name: f"--{option.replace('_', '-')}" for option, field in own.items()}
            raise ValueError(as_typed(str(error), shown)) from error
        run(made, **options)

    types = get_type_hints(protocol)
    parameters = [
        inspect.Parameter(
            option.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=_option(f"--{option.replace('_', '-')}", field, types[field.name]),
        )
        for option, field in own.items()
    ]
    own = {option.replace("-", "_"): field for option, field in own.items()}
    parameters += [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]) for parameter in common
    ]
    parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _fields(protocol: type[Any]) -> list[dataclasses.Field[Any]]:
    if not dataclasses.is_dataclass(protocol):
        raise ValueError(f"{protocol.__name__} must be a dataclass to have options; use it from Python.")
    return [field for field in dataclasses.fields(protocol) if field.init]


def _option(name: str, field: dataclasses.Field[Any], kind: Any) -> Any:
    """Return the annotation of an option for a field, whose metadata may say `within` and `help`."""
    shown = str(field.metadata.get("help", ""))
    within = str(field.metadata.get("within", "(-inf, inf)"))
    if kind is int:
        return Annotated[int, integer(name, within=within, help=shown)]
    if kind is float:
        return Annotated[float, number(name, within=within, help=shown)]
    if kind in (str, bool) or (isinstance(kind, type) and issubclass(kind, Enum)):
        return Annotated[kind, typer.Option(name, help=shown)]
    raise ValueError(f"{field.name} of type {kind} cannot be typed as an option; use the protocol from Python.")
