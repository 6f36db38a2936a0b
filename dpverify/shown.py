"""Results that show themselves: as text, in notebooks, as a figure, as plain values and as a data frame.

What draws them, `dpverify.report`, stands above them and may take a second to import. So a result names it, as the
registry names twins, and it is imported when something is shown for the first time.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from operator import attrgetter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from protocols.classes.optional import needing

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Drawn", "Plain", "Shown", "flat", "named", "plain", "records"]


def named(where: str) -> Any:
    """Return what `module:name` stands for, imported now: for results, which stand below what draws them."""
    with needing("Showing a result"):
        return resolve_name(where)


def plain(value: Any) -> Any:
    """Return a value as plain JSON values.

    A result is what its `to_dict` returns, another dataclass its fields by name, a member of an enum its value, an
    exact number the nearest float, and an infinity, which JSON lacks, the string "inf" or "-inf".
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else f"{key:g}": plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "to_dict"):
        return [plain(entry) for entry in value]
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, float):
        return str(value) if math.isinf(value) else value
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return plain(value.tolist()) if hasattr(value, "tolist") else value


class Plain:
    """A dataclass with plain values."""

    plain_as: ClassVar[str] = ""
    """What of it these are, in order and with a blank between: `name`, or `name=path.of.attributes`; `name?` where it
    is not None, and `*name` for the values of that one in its place. Empty for all fields, each under its name."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values."""
        names = self.plain_as.split() or [field.name for field in fields(self)]  # type: ignore[arg-type]
        found: dict[str, Any] = {}
        for name in names:
            key, _, path = name.strip("*?").partition("=")
            value = plain(attrgetter(path or key)(self))
            if name[0] == "*":
                found |= value
            elif value is not None or name[-1] != "?":
                found[key] = value
        return found


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested values under one key each, such as `guarantee.epsilon`.

    What a list holds is joined by "; ", and a list of rows is left out: it has no place in one.
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{name}": inner for name, inner in flat(value).items()}
        elif isinstance(value, (list, tuple)):
            if not any(isinstance(each, Mapping) for each in value):
                found[key] = "; ".join(map(str, value))
        else:
            found[key] = value
    return found


def records(result: Mapping[str, Any], rows: str = "rows") -> list[dict[str, Any]]:
    """Return a result's plain values as flat rows, which all have the same keys: for CSV files and data frames.

    - result: What `to_dict` returns.
    - rows: The key of its list of rows, behind which every row has what the whole has in common; a result without that
      key is one row.
    """
    if rows not in result:
        return [flat(result)]
    common = flat({key: value for key, value in result.items() if not isinstance(value, (list, tuple))})
    found = [common | flat(row) for row in result[rows]]
    keys = dict.fromkeys(key for row in found for key in row)
    return [{key: row.get(key) for key in keys} for row in found]


class Shown(Plain):
    """A result with a text, that of its table, and with plain values."""

    table_by: ClassVar[str]
    """`module:function` that returns the table of one."""
    rows_by: ClassVar[str] = "rows"
    """Which key of the plain values holds rows, if there is one of that name."""

    def __str__(self) -> str:
        text: str = named("dpverify.report.tables:as_text")(named(self.table_by)(self))
        return text

    def _repr_html_(self) -> str:
        """Return the text for notebooks, escaped."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def to_dataframe(self) -> pandas.DataFrame:
        """Return the rows of `to_dict` as a data frame of pandas, or its one row; nested names are joined by dots.

        Raises ImportError: Without pandas, which `pip install '.[data]'` installs.
        """
        with needing("to_dataframe"):
            import pandas
        return pandas.DataFrame(records(self.to_dict(), self.rows_by))


class Drawn(Shown):
    """A result with a figure, too."""

    figure_by: ClassVar[str]
    """`module:function` that draws one, on given axes or on new ones, and returns them."""

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw it with matplotlib.

        - axes: Where; on a figure of its own when omitted, which is `.figure` of what is returned.
        """
        with needing("A figure"):
            drawn: Axes = resolve_name(self.figure_by)(self, axes)
        return drawn
