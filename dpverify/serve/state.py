"""The page's state: what its sliders say, what a link says, and what either may say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from dpverify.planning.sweeps.comparison import BITSUMS
from protocols.classes.frozen import dataclass
from protocols.validation import check_choice

__all__ = ["CONTROLS", "BadState", "Control", "State", "controls", "read_value"]

_NUMBER = re.compile(
    r"\d{1,20}(\.\d{0,30})?([eE][+-]?\d{1,3})?|\.\d{1,30}([eE][+-]?\d{1,3})?|\d{1,9}/\d{1,9}", re.ASCII
)
"""What writes a number: so short that reading it exactly takes no time, whatever it is."""
_SHOWN = 40
"""So many characters of a value are repeated in a message."""
_NAME = "bitsum"


class Control(NamedTuple):
    """A slider with its number field.

    - label, help: What it is called, and what it is.
    - low, high: The least and the largest value that is taken.
    - stops: The slider's, in order; whatever lies in the range may be typed.
    - first: What it says where a link says nothing.
    - whole: Whether only integers are taken.
    - optional: Whether it may be empty.
    """

    label: str
    help: str
    low: str
    high: str
    stops: tuple[str, ...]
    first: str
    whole: bool = False
    optional: bool = False

    def nearest(self, text: str) -> int:
        """Return the place of the stop that is nearest to a value, as a ratio."""
        value = Fraction(text)
        ratios = [max(value / Fraction(stop), Fraction(stop) / value) for stop in self.stops]
        return ratios.index(min(ratios))


def _stops(text: str) -> tuple[str, ...]:
    return tuple(text.split())


CONTROLS = {
    "epsilon": Control(
        "Epsilon, ε",
        "Budget of the whole, in nats.",
        "0.001",
        "50",
        _stops("0.1 0.2 0.3 0.5 0.7 1 1.5 2 3 4 5 7 10"),
        "1",
    ),
    "delta": Control(
        "Delta, δ",
        "Budget of the whole.",
        "1e-15",
        "0.1",
        _stops("1e-12 1e-11 1e-10 1e-9 1e-8 1e-7 1e-6 1e-5 1e-4 1e-3 1e-2"),
        "1e-6",
    ),
    "users": Control(
        "Users, n",
        "How many take part; public.",
        "2",
        "1e7",
        _stops("20 50 100 200 500 1000 2000 5000 10000 20000 50000 100000 200000 500000 1000000"),
        "10000",
        whole=True,
    ),
    "instances": Control(
        "Instances, I",
        "Binary sums that each user takes part in.",
        "1",
        "1e4",
        _stops("1 2 4 8 16 32 64 128 256 512 768 1024"),
        "16",
        whole=True,
    ),
    "squared_change": Control(
        "Squared change, T²",
        "How far one user moves her bits' probabilities, squared and added; none: every bit may change fully.",
        "0.001",
        "1e4",
        _stops("0.5 1 2 4 8 16 32 64"),
        "",
        optional=True,
    ),
    "honest": Control(
        "Honest share, f",
        "The budget holds while this share of the users follows the protocol.",
        "0.01",
        "1",
        _stops("0.25 0.5 0.75 0.8 0.9 0.95 0.99 1"),
        "1",
    ),
}
"""By the name that the argument has in Python and in a link."""


class BadState(ValueError):
    """What is wrong with a state: one sentence for each control, by name."""

    def __init__(self, errors: dict[str, str]) -> None:
        self.errors = errors
        super().__init__(" ".join(errors.values()))


@dataclass(frozen=True)
class State:
    """What is asked: one budget for one protocol.

    - bitsum: A key of `dpverify.claims.bitsum.BITSUM_CLAIMS`.
    - epsilon, delta: The budget, as typed: a decimal or a quotient, which means exactly what it writes.
    - users, instances: n and I.
    - squared_change: T^2; None where every bit may change fully.
    - honest: f, a share of the users; here 1 are all of them.
    """

    bitsum: str
    epsilon: str
    delta: str
    users: int
    instances: int
    squared_change: str | None
    honest: str

    @classmethod
    def read(cls, query: Iterable[tuple[str, str]]) -> State:
        """Return the state that the query of a link means; what it leaves out has its first value.

        Raises BadState if something else is named, a name twice, or a value is out of range.
        """
        typed: dict[str, str] = {}
        errors: dict[str, str] = {}
        for name, text in query:
            if name not in CONTROLS and name != _NAME:
                errors["link"] = f"{_short(name)} must be one of {', '.join([_NAME, *CONTROLS])}."
            elif name in typed:
                errors[name] = f"{name} must be given once."
            typed[name] = text.strip()
        values: dict[str, Any] = {}
        for name, control in CONTROLS.items():
            try:
                values[name] = read_value(name, control, typed.get(name, control.first))
            except ValueError as error:
                errors.setdefault(name, str(error))
        try:
            bitsum = check_choice(_NAME, typed.get(_NAME, next(iter(BITSUMS)))[:_SHOWN], BITSUMS)
        except ValueError as error:
            errors.setdefault(_NAME, str(error))
        if not errors:
            found = cls(bitsum, **values)
            errors = found._together()
        if errors:
            raise BadState(errors)
        return found

    def _together(self) -> dict[str, str]:
        """Return what is wrong between the values."""
        errors = {}
        if self.squared_change is not None and Fraction(self.squared_change) > self.instances:
            errors["squared_change"] = (
                f"squared_change={self.squared_change} must be at most instances={self.instances}: no bit changes by "
                "more than 1."
            )
        if Fraction(self.honest) * self.users < 1:
            errors["honest"] = (
                f"honest={self.honest} must be at least 1/{self.users}: one of users={self.users} is honest."
            )
        return errors

    @property
    def everybody(self) -> bool:
        """Whether all users must follow the protocol."""
        return Fraction(self.honest) == 1

    def texts(self) -> dict[str, str]:
        """Return the values as texts that `read` takes back."""
        values = {name: getattr(self, name) for name in (_NAME, *CONTROLS)}
        return {name: "" if value is None else str(value) for name, value in values.items()}


def controls() -> dict[str, Any]:
    """Return all that the page must know to draw its controls, as plain JSON values."""
    return {
        "bitsums": list(BITSUMS),
        "controls": {
            name: {
                "label": control.label,
                "help": control.help,
                "range": f"{control.low} to {control.high}",
                "stops": list(control.stops),
                "first": control.first,
                "optional": control.optional,
            }
            for name, control in CONTROLS.items()
        },
    }


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


def read_value(name: str, control: Control, text: str) -> str | int | None:
    """Return what is typed in a control.

    Raises ValueError if it is out of its range.
    """
    if control.optional and not text:
        return None
    try:
        value = Fraction(text) if _NUMBER.fullmatch(text) else None
    except ZeroDivisionError:
        value = None
    in_range = value is not None and Fraction(control.low) <= value <= Fraction(control.high)
    if value is None or not in_range or (control.whole and value.denominator != 1):
        kind = "an integer" if control.whole else "a number"
        raise ValueError(f"{name}={_short(text)} must be {kind} from {control.low} to {control.high}.")
    return int(value) if control.whole else text
