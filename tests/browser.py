"""A headless Chromium for tests of pages: what a page asks for, and what its console says, is written down.

`tests/install_browser.sh` installs one; without, the tests that need it are skipped and say why. Nothing outside this
machine is reached, whatever a page asks for.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["PHONE", "Opened", "barriers", "chromium", "opened", "started"]

PHONE = (360, 740)
"""Width and height of a small phone, in CSS pixels."""
VARIABLE = "DPVERIFY_CHROMIUM"
"""The environment variable that names a Chromium, before any that is found."""
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
LOCAL = ("file", "data", "blob", "about")
"""Schemes of addresses that need no network."""

_WIDER = """() => [...document.querySelectorAll("body *")]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .slice(0, 5).map(e => e.tagName + "." + (e.className.baseVal ?? e.className))"""


def chromium(own: str = "") -> str | None:
    """Return where a Chromium is: the named one, one on the PATH, or the one that playwright keeps; None without."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or (own if own and Path(own).is_file() else None)


@contextmanager
def started() -> Iterator[Browser]:
    """Start the browser, or skip with the reason.

    Not for a whole session: while it runs, playwright's event loop runs in this thread too, and no other can.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    with playwright.sync_playwright() as running:
        where = chromium(running.chromium.executable_path)
        if where is None:
            pytest.skip(f"there is no Chromium: tests/install_browser.sh installs one, or {VARIABLE} names one")
        # A container's root has no sandbox, and these pages are ours.
        only_here = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
        browser = running.chromium.launch(executable_path=where, args=["--no-sandbox", only_here])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page, and what happened on it.

    Parameters
    ----------
    page : playwright.sync_api.Page
        To look at and to act on.
    complaints : list of str
        Errors and warnings of the console, exceptions of scripts, and requests that failed, those given up apart.
    requests : list of str
        The addresses that were asked for, in order.
    """

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def outside(self, allowed: str = "") -> list[str]:
        """Return the requests that need a network, but for those that begin with an address such as our server's."""
        asked = [url for url in self.requests if urlsplit(url).scheme not in LOCAL]
        return [url for url in asked if not allowed or not url.startswith(allowed)]

    def sideways(self) -> list[str]:
        """Return what makes the page scroll sideways: nothing, if it does not."""
        page = self.page
        wider = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        return (page.evaluate(_WIDER) or ["something"]) if wider else []


def barriers(page: Page, *but: str) -> list[str]:
    """Return what axe finds on a page that keeps somebody from using it, but for some of its rules; or skip.

    - page: Open.
    - but: Names of rules.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install '.[accessibility]'")
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {part['html']}" for each in found if each["id"] not in but for part in each["nodes"]]


def _failure(request: Any) -> list[str]:
    """Return what failed; what a script has given up itself has not."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"{request.url}: {request.failure}"]


@contextmanager
def opened(
    browser: Browser,
    address: str | Path,
    *,
    size: tuple[int, int] = (1200, 900),
    dark: bool = False,
    script: bool = True,
    **options: Any,
) -> Iterator[Opened]:
    """Open an address, or a file, in a window of its own, in its final state.

    Parameters
    ----------
    browser : playwright.sync_api.Browser
        Of `started`.
    address : str or Path
        A file is opened as such.
    size : (int, int)
        Of the window, in CSS pixels.
    dark : bool
        The colours that the user prefers.
    script : bool
        Whether scripts run.
    **options
        Of playwright's `new_context`, such as `reduced_motion="reduce"` or `permissions`.
    """
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
        **options,
    )
    context.set_default_timeout(120_000)  # no test fails for the machine's speed
    try:
        found = Opened(context.new_page())
        page = found.page
        page.on("console", lambda m: found.complaints.append(m.text) if m.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("requestfailed", lambda request: found.complaints.extend(_failure(request)))
        page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        yield found
    finally:
        context.close()
