"""The browser of the tests notices what it is there to notice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import PHONE, VARIABLE, chromium, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BAD = """<!doctype html><title>bad</title><script>console.error("a complaint"); missing()</script>
<img alt="" src="http://example.invalid/picture.png"><div style="width: 900px">wide</div>"""
GOOD = "<!doctype html><title>good</title><style>body { color-scheme: light dark }</style><p id=p>good</p>"


def written(folder: Path, page: str) -> Path:
    (folder / "page.html").write_text(page, encoding="utf-8")
    return folder / "page.html"


def test_a_bad_page_is_seen_to_be_bad(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, BAD), size=PHONE) as found:
        assert any("a complaint" in line for line in found.complaints)
        assert any("missing" in line for line in found.complaints)
        assert found.outside() == ["http://example.invalid/picture.png"]
        assert found.outside("http://example.invalid/") == []
        assert found.sideways() == ["DIV."]


def test_a_good_page_is_not(browser: Browser, tmp_path: Path) -> None:
    for dark in (False, True):
        with opened(browser, written(tmp_path, GOOD), size=PHONE, dark=dark) as found:
            assert (found.complaints, found.outside(), found.sideways()) == ([], [], [])
            assert found.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark


def test_scripts_can_be_switched_off(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(tmp_path, GOOD + "<script>p.textContent = 'run'</script>"), script=False) as found:
        assert found.page.text_content("#p") == "good"


@pytest.mark.long
def test_a_named_browser_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "/named")
    assert chromium() == "/named"
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium() is None
    assert chromium(str(tmp_path / "none")) is None
    (tmp_path / "chromium").write_text("#!/bin/sh\n", encoding="utf-8")
    assert chromium(str(tmp_path / "chromium")) == str(tmp_path / "chromium")
    (tmp_path / "chromium").chmod(0o755)
    assert chromium() == str(tmp_path / "chromium")
