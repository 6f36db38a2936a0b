"""Commands for protocols, ours and those of installed packages, with an option for each field of the protocol's class.

They are listed from the registry alone; a protocol is imported when the options of its command are asked for.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from dpverify.cli.commands import made_by
from dpverify.cli.groups import Listed
from dpverify.cli.messages import as_typed
from dpverify.cli.options import exact, integer, number
from dpverify.guarantee import Number

__all__ = ["REQUIRED", "Changes", "Declared", "Run", "declaring", "fitting", "making"]

REQUIRED = inspect.Parameter.empty
"""The default of an option that must be typed."""
F = TypeVar("F", bound=Callable[..., Any])
_RUNS = ("accounts.account:account_any", "audits.audit:audit_any")
"""What runs protocols, with all options that a command of one may have besides its own."""
Run = Callable[..., None]
"""`run(protocol, **options)`, with the options of the command as annotated parameters behind the protocol."""
Changes = Mapping[str, Mapping[str, Any] | None]
"""By name of a field or option: what differs for a protocol (default, range, help, annotation); None leaves it out."""


def declaring(group: str, fitted: Callable[[Any], tuple[Run, Changes]]) -> type[Listed]:
    """Return the class of a group that has, besides the commands written for it, one for each protocol in the registry.

    - group: The group's name.
    - fitted: Returns, for a twin, what runs its protocol and what of the options is special.
    """
    return type("Declaring", (_Declaring,), {"group": group, "fitted": staticmethod(fitted)})


class _Declaring(Listed):
    group: str
    fitted: Callable[[Any], tuple[Run, Changes]]

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        from dpverify.claims.registry import Group, registered

        found: dict[str, Any] = {}
        groups = (Group.BITSUMS, Group.MECHANISMS, Group.STEPS)
        for name, line in ((name, line) for group in groups for name, line in registered(group).lines.items()):
            if name in self.commands:
                found[name] = self.commands[name]
            elif self.group in line.commands:
                found[name] = Declared(name, line.help, functools.partial(_with_options, name, self.fitted))
        self.commands = {**found, **self.commands}


class Declared(TyperCommand):
    """A command that is listed by its name and help, and has options from when these are asked for.

    - name, help: As listed.
    - made: Returns the command, as a function with options.

    - added: Options that stand behind those of the function.
    """

    def __init__(self, name: str, help: str, made: Callable[[], Run]) -> None:
        super().__init__(name, help=help, rich_markup_mode=None)
        self._made, self.added = made, list[Any]()
        del self.params, self.callback

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("params", "callback"):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r}.")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command()(self._made())
        made = typer.main.get_command(single)
        self.params, self.callback = [*made.params, *self.added], made.callback
        return getattr(self, attribute)


def _annotated(function: F, parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> F:
    """Return a function with these parameters, the required ones first, as its signature."""
    ordered = sorted(parameters, key=lambda parameter: parameter.default is not REQUIRED)
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name]) for each in ordered]
    )
    function.__annotations__ = {each.name: hints[each.name] for each in ordered}
    return function


def _with_options(name: str, fitted: Callable[[Any], tuple[Run, Changes]]) -> Run:
    from dpverify.claims.registry import claims_named

    claims = claims_named(name)
    run, changes = fitted(claims)
    return made_by(making(name, claims.protocol, changes), fitting(run, changes))


def making(name: str, protocol: type[Any], changes: Changes) -> Callable[..., Any]:
    """Return what makes a protocol, or a pair, of options, each called after a field unless a command has its name."""
    taken, types = _taken(), get_type_hints(protocol)
    fields = {
        (field.name if field.name not in taken else f"{name}_{field.name}".replace("-", "_")): field
        for field in _fields(protocol)
    }
    typed = {field.name: f"--{option.replace('_', '-')}" for option, field in fields.items()}

    def make(**options: Any) -> Any:
        try:
            return protocol(**{field.name: options[option] for option, field in fields.items()})
        except ValueError as error:
            raise ValueError(as_typed(str(error), typed)) from error

    parameters, hints = [], {}
    for option, field in fields.items():
        said = {"default": field.default, **field.metadata, **(changes.get(field.name) or {})}
        default = REQUIRED if said["default"] is dataclasses.MISSING else said["default"]
        parameters.append(inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default))
        hints[option] = _option(typed[field.name], field.name, types[field.name], said)
    return _annotated(make, parameters, hints)


def _taken() -> set[str]:
    # An option for a field is called alike in every group.
    runs = (at.split(":") for at in _RUNS)
    functions = (getattr(importlib.import_module(f"dpverify.cli.{module}"), name) for module, name in runs)
    return {option for function in functions for option in inspect.signature(function).parameters}


def fitting(run: Run, changes: Changes) -> Run:
    """Return what runs a protocol with other options.

    - run: `run(protocol, **options)`.
    - changes: What differs: None for an option that is left out, or another default or annotation.
    """

    @functools.wraps(run)
    def changed(protocol: Any, **options: Any) -> None:
        run(protocol, **options)

    parameters, hints = [], get_type_hints(run, include_extras=True)
    for parameter in inspect.signature(run).parameters.values():
        change = changes.get(parameter.name, {})
        if change is not None:
            parameters.append(parameter.replace(default=change.get("default", parameter.default)))
            hints[parameter.name] = change.get("annotation", hints.get(parameter.name))
    return _annotated(changed, parameters, hints)


def _fields(protocol: type[Any]) -> list[dataclasses.Field[Any]]:
    if not dataclasses.is_dataclass(protocol):
        raise ValueError(f"{protocol.__name__} must be a dataclass to have options; use it from Python.")
    return [field for field in dataclasses.fields(protocol) if field.init and field.metadata.get("typed", True)]


def _option(option: str, name: str, kind: Any, said: Mapping[str, Any]) -> Any:
    """Return the annotation of an option for a field, of which `within` and `help` may be said."""
    shown, within = str(said.get("help", "")), str(said.get("within", "(-inf, inf)"))
    if kind == Number:
        return Annotated[str, exact(option, within=within, help=shown)]
    if kind == int | None:
        return Annotated[int | None, integer(option, within=within, help=shown)]
    if kind is int:
        return Annotated[int, integer(option, within=within, help=shown)]
    if kind is float:
        return Annotated[float, number(option, within=within, help=shown)]
    if kind in (str, bool) or (isinstance(kind, type) and issubclass(kind, Enum)):
        return Annotated[kind, typer.Option(option, help=shown)]
    raise ValueError(f"{name} of type {kind} cannot be typed as an option; use the protocol from Python.")
