"""How far work has come, on standard error: a bar for whoever waits at a terminal, now and then a line for a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

import typer

from dpverify.cli.output import console

__all__ = ["Progress", "told"]

Progress = Callable[..., object]
"""`progress(done, total)`, as what takes long calls it; a third argument says what is counted from then on."""
_PATIENCE = 1.0
"""Seconds after which something is shown: who waits for less has read nothing yet."""
_EVERY = 10.0
"""Seconds between lines in a file."""


def _in_lines(what: str) -> Progress:
    last = time.monotonic()

    def tell(done: float, total: float, now: str = what) -> None:
        nonlocal last
        if done < total and time.monotonic() >= last + _EVERY:
            last = time.monotonic()
            shown = f"{done:,}" if done == int(done) else f"{done:,.1f}"  # of a search, the share that is done
            typer.echo(f"{now}: {shown} of {total:,} ...", err=True)

    return tell


@contextmanager
def told(what: str, *, patience: float = _PATIENCE) -> Iterator[Progress]:
    """Show a bar with the time that is left while something runs; not at a terminal, a line every ten seconds.

    - what: What is counted, such as `plans`.
    - patience: Seconds before the bar appears.
    """
    screen = console(stderr=True)
    if not screen.is_interactive:
        yield _in_lines(what)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    left = TimeRemainingColumn(compact=True)
    bar = Bar(
        TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), left, TextColumn("left"),
        console=screen, transient=True,
    )  # fmt: skip
    task = bar.add_task(what, total=None)
    appears = Timer(patience, bar.start)
    appears.daemon = True
    appears.start()
    try:
        yield lambda done, total, now=what: bar.update(task, description=now, completed=done, total=total)
    finally:
        appears.cancel()
        appears.join()
        bar.stop()
