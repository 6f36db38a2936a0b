"""The page of a report, from its template, and the file that it is written to."""

from __future__ import annotations

import base64
import hashlib
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.dossier.contents import Dossier
from dpverify.files import check_path, write_text
from protocols.classes.optional import needing

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["ENDINGS", "check_report_path", "page", "write_report"]

ENDINGS = (".html", ".htm")
_FILES = files("dpverify.report.html")


@cache
def _environment() -> Environment:
    with needing("A report"):
        from jinja2 import Environment, FunctionLoader, StrictUndefined

    def source(name: str) -> str:
        return (_FILES / name).read_text(encoding="utf-8")

    # Everything is escaped but what this package made itself, whatever the template is called.
    return Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def check_report_path(path: Path, name: str = "path") -> None:
    """Check, before the work for a report, that it can be made and written there.

    - path: Where it is to be written.
    - name: What asked for it, for the message.

    Raises ValueError if the path does not end in .html or .htm, or cannot be written. Raises MissingPackageError if the
    extra `report` is not installed.
    """
    check_path(path, name, ENDINGS)
    _environment()


def page(dossier: Dossier) -> str:
    """Return a report as one page, which needs nothing else.

    Raises MissingPackageError if the extra `report` is not installed.
    """
    environment = _environment()
    from markupsafe import Markup

    from dpverify.report.html.parts import parts
    from dpverify.report.html.plots import missing, plots

    # Ours, and without "</": it stands in the page as it is.
    script = (_FILES / "page.js").read_text(encoding="utf-8")
    style = (_FILES / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    drawn = plots(dossier)
    text = environment.get_template("page.html.j2").render(
        **parts(dossier),
        plots=drawn,
        missing=partial(missing, dossier, drawn),
        script=Markup(script),
        style=Markup(style),
        script_hash=f"sha256-{digest}",
    )
    return text.encode("utf-8", "replace").decode()  # half a character, as JSON may hold, cannot be written


def write_report(dossier: Dossier, path: Path) -> Path:
    """Write a report to a file, all of it or nothing, and return where it is.

    - dossier: As `dpverify.full_report` returns it.
    - path: Ends in .html or .htm, in a folder that exists; a file there is replaced.

    Raises ValueError if it cannot be written there. Raises MissingPackageError if the extra `report` is not installed.
    """
    check_report_path(path)
    write_text(page(dossier), path)
    return path
