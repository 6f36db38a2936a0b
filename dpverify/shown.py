"""Results that show themselves: as text, in notebooks, and as a figure.

What draws them, `dpverify.report`, stands above them and may take a second to import. So a result names it, as the
registry names twins, and it is imported when something is shown for the first time.
"""

from __future__ import annotations

import html
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Drawn", "Shown"]


def _named(where: str) -> Any:
    return EntryPoint(where, where, "dpverify.report").load()


class Shown:
    """A result with a text: that of its table."""

    table_by: ClassVar[str]
    """`module:function` that returns the table of one."""

    def __str__(self) -> str:
        text: str = _named("dpverify.report.tables:as_text")(_named(self.table_by)(self))
        return text

    def _repr_html_(self) -> str:
        """Return the text for notebooks, escaped."""
        return f"<pre>{html.escape(str(self))}</pre>"


class Drawn(Shown):
    """A result with a figure, too."""

    figure_by: ClassVar[str]
    """`module:function` that draws one, on given axes or on new ones, and returns them."""

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draw it with matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where; on a figure of its own when omitted, which is `.figure` of what is returned.

        Returns
        -------
        matplotlib.axes.Axes
        """
        drawn: Axes = _named(self.figure_by)(self, axes)
        return drawn
