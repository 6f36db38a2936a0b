"""What the library says, in the words of the command line: arguments become the options that were typed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpverify.cli.protocol_names import bitsums, either, known_name
from protocols.validation import meant

__all__ = ["as_typed", "invoked", "options_of", "refuse_repeated", "unknown"]

_OTHER_NAMES = {
    "max_messages_per_user": "max_messages",
    "threat_model": "adversary",
    "public_scale": "scale",
    "checkpoint": "resume",
    "implementation": "target",
    "path": "file",
    "paths": "files",
    "points": "at",
    "level": "alarm",
}
"""Arguments of the library that the commands name otherwise."""
_LONG = re.compile(r"(?<![\w.'-])([1-9]\d{0,3}?)(0{9,})(?![\w']|\.\d)")
_BARE = re.compile(r"(--[a-z0-9-]+)=(?:True|None)\b")
_ENUM = re.compile(r"<\w+\.\w+: ('[^']*')>|Decimal\(('[^']*')\)")


def invoked(group: Any, words: Sequence[str]) -> tuple[Any, list[str]]:
    """Return the command that the words lead to, and the words with the commands' own names.

    The command is a group itself where an option comes first.

    Raises ValueError if a word is no command, or the last one is still to come; if one stands behind an option of the
    group, such as --install-completion, which would not look at it.
    """
    command, path = group, ["dpverify"]
    first, *behind = words or [""]
    if behind and any(first in parameter.opts for parameter in group.params):
        raise ValueError(f"{first} must be all that is typed, without {' '.join(behind)!r} behind it.")
    for place, word in enumerate(words):
        commands = getattr(command, "commands", None)
        if commands is None or word.startswith("-"):
            return command, [*path[1:], *words[place:]]
        name = known_name(word, commands)
        if name is None:
            raise ValueError(
                f"{word!r} must be a command of `{' '.join(path)}`: {_names(commands)}{meant(word, commands)}."
            )
        command = commands[name]
        path.append(name)
    if words and hasattr(command, "commands"):
        raise ValueError(f"`{' '.join(path)}` must be followed by a command: {_names(command.commands)}.")
    return command, path[1:]


def _names(commands: Mapping[str, Any]) -> str:
    return ", ".join(name for name, command in commands.items() if not command.hidden)


def options_of(command: Any) -> dict[str, str]:
    """Return options and arguments of a command, as typed or as its help calls them, by the name in the library."""
    options = {parameter.name: parameter.opts[0] for parameter in command.params}
    return options | {name: options[other] for name, other in _OTHER_NAMES.items() if other in options}


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """Return a message with `--flip-probability=0.7` for `flip_probability=0.7`, and no enum's or Decimal's repr.

    A flag has no value, and what was not typed has none: `ball=True` is `--ball`. Names that no option has, such as
    those of an intermediate law, stay as they are. A name of several words, with underscores, is one wherever it
    stands; another only before its value. A one with nine zeros or more is a power, as it may be typed: 1e18.
    """
    for name, option in options.items():
        behind = r"(?![\w(])" if "_" in name else "(?==)"
        message = re.sub(rf"(?<![-\w.'\"/]){name}{behind}", option, message)
    message = _LONG.sub(lambda found: f"{found[1]}e{len(found[2])}", message)
    return _ENUM.sub(r"\1\2", _BARE.sub(r"\1", message))


def unknown(message: str, command: Any, words: Sequence[str]) -> str:
    """Return what the parser says of words, with the word that was meant where it knows one of them not.

    - message: In the parser's words.
    - command: What the words lead to.
    - words: Everything that was typed.
    """
    strange = re.match(r"No such option(?:: | ')([^\s']+)", message)  # quoted by click from 8.5 on
    if not strange:
        extra = re.fullmatch(r"Got unexpected extra argument\S* \((\S+)\)", message)
        name = known_name(extra[1], bitsums()) if extra and "bitsum" in options_of(command) else None
        return f"{message}; a protocol is chosen by --bitsum {name}." if name else message
    option = strange[1]
    behind = [name for name, each in getattr(command, "commands", {}).items() if option in _typed(each)]
    if behind:
        place = next((name for name in behind if name in words), behind[0])
        return f"No such option: {option}; it must stand behind a command, such as {place} {option}."
    known = _typed(command)
    begins = [name for name in known if name.startswith(option)]
    return f"No such option: {option}{f' (did you mean {either(begins)}?)' if begins else meant(option, known)}."


def _typed(command: Any) -> list[str]:
    return [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]


def refuse_repeated(words: Iterable[str], options: Iterable[str]) -> None:
    """Refuse a second value for an option, of which the first would be ignored.

    Raises ValueError if one of the options is there twice.
    """
    typed = [word.split("=", 1)[0] for word in words]
    for option in options:
        if option.startswith("-") and typed.count(option) > 1:
            raise ValueError(f"{option} must be given once, not {typed.count(option)} times.")
