"""The page in a real browser: it loads nothing, complains about nothing, and can be read and used everywhere."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dpverify.report.html.page import check_report_path, write_report
from tests.browser import PHONE, barriers, opened
from tests.dossier.small import HOSTILE, small, small_page

WRITTEN = HOSTILE.encode("utf-8", "replace").decode()
"""What is left of it in a file."""

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = ((1280, 900), PHONE)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(small_page(), encoding="utf-8")
    return path


def test_a_page_is_small_whole_and_the_same_again(tmp_path: Path) -> None:
    text = small_page()
    assert len(text.encode()) < 1_000_000
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")
    assert not re.search(r"""(src|href)=["']?(https?:|//)""", text)
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    assert write_report(small(), path) == path
    assert path.read_text(encoding="utf-8") == text
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_path_is_checked_before_the_work(tmp_path: Path) -> None:
    for name in ("report.txt", "none/report.html"):
        with pytest.raises(ValueError, match=r"OUTPUT='.*' must"):
            check_report_path(tmp_path / name, "OUTPUT")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ValueError, match="must be a file"):
        check_report_path(tmp_path / "folder.html")


def test_without_the_extra_one_sentence_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from dpverify.report.html import page as module

    module._environment.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[report\]'"):
        check_report_path(tmp_path / "report.html")
    module._environment.cache_clear()


def test_no_text_of_a_plot_sticks_out_of_it(browser: Browser, tmp_path: Path) -> None:
    # As with a joint change, whose labels are long.
    lines = small().profile.lines
    profile = replace(small().profile, lines=(*lines, replace(lines[0], label="exact plan, joint change")))
    path = write_report(replace(small(), profile=profile), tmp_path / "joint.html")
    with opened(browser, path) as found:
        for width, height in SIZES:
            found.page.set_viewport_size({"width": width, "height": height})
            beyond = found.page.evaluate(
                """[...document.querySelectorAll("figure.plot svg")].map(plot => Math.max(...[...plot.querySelectorAll(
                "text")].map(text => text.getBoundingClientRect().right - plot.getBoundingClientRect().right)))"""
            )
            assert len(beyond) > 3
            assert max(beyond) <= 0.0, width


@pytest.mark.parametrize("dark", [False, True])
def test_it_is_quiet_loads_nothing_and_does_not_scroll_sideways(browser: Browser, written: Path, dark: bool) -> None:
    with opened(browser, written, size=SIZES[0], dark=dark) as found:
        ground, text = found.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
        )
        light = sum(map(int, re.findall(r"\d+", ground)[:3])) > sum(map(int, re.findall(r"\d+", text)[:3]))
        assert light is not dark
        assert found.page.evaluate("document.querySelectorAll('svg text').length") > 50
        over = """all => all.filter(one => one.getBoundingClientRect().bottom >
            one.parentElement.querySelector("pre").getBoundingClientRect().top).length"""
        wider = "all => all.filter(one => one.offsetWidth > one.closest('.scroll').clientWidth).length"
        for width, height in SIZES:
            found.page.set_viewport_size({"width": width, "height": height})
            assert found.sideways() == [], width
            assert found.page.locator(".scroll caption").evaluate_all(wider) == 0, width
            assert found.page.locator(".copy").evaluate_all(over) == 0, width  # a button beside code, not on it
        assert found.complaints == []
        assert found.requests == [written.as_uri()]


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_keeps_anybody_from_reading_it(browser: Browser, written: Path, dark: bool) -> None:
    with opened(browser, written, dark=dark) as found:
        assert barriers(found.page) == []


def test_hostile_texts_are_texts(browser: Browser, written: Path) -> None:
    with opened(browser, written) as found:
        assert found.page.title() == " ".join(WRITTEN.split())
        assert found.page.text_content("h1") == WRITTEN
        assert found.page.locator("img").count() == 0
        assert found.page.locator("script").count() == 1
        assert found.page.locator("#audit tbody th").first.text_content() == WRITTEN.split(", ")[0]


def test_an_injected_script_would_not_run(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(small_page().replace("</main>", "<script>document.title = 'run'</script></main>"), encoding="utf-8")
    with opened(browser, path) as found:
        assert found.page.title() != "run"
        assert any("Content Security Policy" in line for line in found.complaints)


def test_rows_are_sorted_and_filtered(browser: Browser, written: Path) -> None:
    with opened(browser, written) as found:
        rows = found.page.locator("#plans-all tbody tr")
        button = found.page.locator("#plans-all thead button", has_text="RMSE")
        errors = "rows => rows.map(row => row.cells[2].dataset.value).map(v => v === '' ? null : Number(v))"
        button.focus()
        found.page.keyboard.press("Enter")
        up = rows.evaluate_all(errors)
        assert up[-1] is None
        assert up[:-1] == sorted(up[:-1])
        assert found.page.locator("#plans-all th[aria-sort=ascending]").count() == 1
        button.click()
        down = rows.evaluate_all(errors)
        assert down[-1] is None
        assert down[:-1] == sorted(down[:-1], reverse=True)
        found.page.get_by_label("exact", exact=True).check()
        shown = rows.evaluate_all("rows => rows.filter(row => !row.hidden).map(row => row.dataset.method)")
        assert shown == ["exact"] * 9
        found.page.get_by_label("all", exact=True).check()
        assert rows.evaluate_all("rows => rows.filter(row => row.hidden).length") == 0


def test_values_are_read_by_pointer_and_by_keys(browser: Browser, written: Path) -> None:
    with opened(browser, written) as found:
        canvas, reading = found.page.locator("#plot-users .canvas"), found.page.locator("#plot-users .reading")
        canvas.scroll_into_view_if_needed()
        canvas.hover()
        assert "RMSE (users)" in str(reading.text_content())
        assert canvas.locator("circle.here").count() == 1
        canvas.focus()
        found.page.keyboard.press("Home")
        first = reading.text_content()
        assert "n 20," in str(first)
        found.page.keyboard.press("End")
        assert "n 180," in str(reading.text_content())
        found.page.keyboard.press("ArrowLeft")
        assert "n 60," in str(reading.text_content())
        before = str(reading.text_content()).split(":")[0]
        found.page.keyboard.press("ArrowDown")
        assert str(reading.text_content()).split(":")[0] != before


def test_it_can_be_read_without_scripts(browser: Browser, written: Path) -> None:
    with opened(browser, written, script=False) as found:
        assert not found.page.locator(".needs-script").first.is_visible()
        details = found.page.locator("#plot-profile details")
        assert not details.locator("table").is_visible()
        details.locator("summary").click()
        assert details.locator("table").is_visible()
        assert found.page.locator("#plans-all").is_visible()


def test_everything_has_a_name_and_can_be_reached(browser: Browser, written: Path) -> None:
    with opened(browser, written) as found:
        page = found.page
        assert (
            page.locator("main").count() == page.locator("nav[aria-label]").count() == page.locator("h1").count() == 1
        )
        levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(one => Number(one.tagName[1]))")
        assert all(after <= before + 1 for before, after in pairwise(levels))
        assert page.locator("table:not(:has(caption))").count() == 0
        assert page.locator("th:not([scope])").count() == 0
        assert page.locator("section:not([aria-labelledby]), [role=region]:not([aria-label])").count() == 0
        identifiers = page.locator("[id]").evaluate_all("all => all.map(one => one.id)")
        assert len(identifiers) == len(set(identifiers))
        names = (
            "all => all.flatMap(one => [...one.attributes].filter(a => /^aria-(labelledby|describedby)$/.test(a.name))"
        )
        named = page.locator("*").evaluate_all(names + ".map(a => a.value))")
        anchors = page.locator("a[href]").evaluate_all("all => all.map(one => one.getAttribute('href').slice(1))")
        assert {*named, *anchors} <= set(identifiers)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"


def test_it_prints_what_is_folded_away(browser: Browser, written: Path) -> None:
    with opened(browser, written, dark=True) as found:
        found.page.emulate_media(media="print")
        assert not found.page.locator("nav").is_visible()
        assert found.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        found.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert found.page.locator(".claim p").first.is_visible()
        assert len(found.page.pdf(format="A4")) > 10_000
