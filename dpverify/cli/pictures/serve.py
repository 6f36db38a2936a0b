"""The command `dpverify serve`: the interactive planner in a browser."""

from __future__ import annotations

import gc
import threading
import webbrowser
from typing import Annotated

import typer

from dpverify.cli.options import integer
from protocols.classes.optional import needing

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(serve)


def serve(
    port: Annotated[int, integer(within="[0, 65535]", help="On this machine only; 0 takes any that is free.")] = 8571,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Plan in a browser, by sliders or from a text. The pages are on this machine alone; Ctrl-C ends it."""
    with needing("The page"):
        from dpverify.serve.app import run

    def ready(address: str) -> None:
        typer.echo(f"{address} (Ctrl-C ends it)")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    run(port, ready)
    gc.freeze()  # to look for garbage once more would take longer than all else that there is to end
