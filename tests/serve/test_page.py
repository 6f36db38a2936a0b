"""The page in a real browser: what it shows, what it asks for, and what it makes of bad input."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dpverify.planning.plan import plan
from tests.browser import PHONE, Opened, barriers, opened
from tests.serve.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

QUICK = "?bitsum=central-discrete-laplace&users=50&instances=2"
"""Whose plans take milliseconds."""
DONE = "#results[aria-busy=false]"


@pytest.fixture(scope="module")
def once(browser: Browser, server: Served) -> Iterator[Opened]:
    with opened(browser, server.url + QUICK, permissions=["clipboard-read", "clipboard-write"]) as found:
        found.page.wait_for_selector(DONE)
        yield found


@pytest.fixture
def shown(once: Opened, server: Served) -> Iterator[Opened]:
    """One window for all: to load the page, and draw it, takes the longest. Its settings are as they were."""
    page, before, lines = once.page, values(once.page), once.page.locator("#shell").inner_text()
    yield once
    for name, text in before.items():
        field = page.locator(f"#{name}")
        if field.input_value() != text:
            field.select_option(text) if name == "bitsum" else field.fill(text)
    page.locator("#shell", has_text=lines).wait_for()
    page.wait_for_selector(DONE)
    assert once.complaints == []
    assert once.outside(server.url) == []


def cell(page: Page, way: str, column: int) -> str:
    return page.locator(f"#plans tbody tr:has(.key.{way}) td").nth(column).inner_text()


def values(page: Page) -> dict[str, str]:
    return {field.get_attribute("name") or "": field.input_value() for field in page.locator("#controls [name]").all()}


def marks(page: Page, figure: str) -> int:
    return page.locator(f"#figure-{figure} .scatterlayer .point").count()


def test_the_page_shows_the_numbers_of_the_library_and_a_name_of_everything(shown: Opened) -> None:
    page, row = shown.page, plan("central-discrete-laplace", ("1", "1e-6"), users=50, instances=2)
    assert float(cell(page, "exact", 0)) == pytest.approx(row.bitsum_rmse, rel=1e-3)
    low, high = map(float, re.findall(r"[\d.]+", cell(page, "exact", 1)))
    assert low <= high <= 1.0
    for figure in ("profile", "users", "epsilon", "honest"):
        assert marks(page, figure) >= 5, figure
    least, most = map(float, page.locator("#risks tr", has_text="advantage").locator("td").all_inner_texts()[1:])
    assert 0.0 < least <= most < 0.5
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button")]
            .filter(e => !(e.labels?.length || e.ariaLabel || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []
    for figure in page.locator("#figures figure").all():
        assert "from" in (figure.locator("[role=img]").get_attribute("aria-label") or "")
        figure.locator("summary").click()
        assert figure.locator("tbody tr").count() >= 5
    assert page.locator("main h2").first.inner_text() == "Settings"
    # A slider changes the curve, the address and the lines.
    before, curve = cell(page, "exact", 0), page.locator("#figure-honest .plot").get_attribute("aria-label")
    page.locator("#epsilon-slider").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"{DONE} >> text=--epsilon 1.5")
    assert page.locator("#epsilon").input_value() == "1.5"
    assert "epsilon=1.5" in page.url
    assert 'plan("central-discrete-laplace", ("1.5", "1e-6")' in page.locator("#python").inner_text()
    assert float(cell(page, "exact", 0)) < float(before)
    assert page.locator("#figure-honest .plot").get_attribute("aria-label") != curve
    assert page.locator("#epsilon-slider").get_attribute("aria-valuetext") == "1.5"


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_keeps_anybody_from_using_it_also_on_a_phone(browser: Browser, server: Served, dark: bool) -> None:
    size = {"size": PHONE, "reduced_motion": "reduce"} if dark else {}
    with opened(browser, server.url + QUICK, dark=dark, **size) as found:
        assert barriers(found.page) == []  # while it computes
        found.page.wait_for_selector(DONE)
        assert barriers(found.page) == []
        assert found.sideways() == []
        colour = found.page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", colour)[:3])) < 200) is dark
        assert found.complaints == []


def test_a_reload_restores_what_was_typed(shown: Opened) -> None:
    page = shown.page
    page.locator("#epsilon").fill("1.23")
    page.locator("#squared_change").fill("0.75")
    page.locator("#bitsum").select_option("central-gaussian")
    planned = "#plans tbody tr:has(.key.joint) td:nth-child(4)"
    page.wait_for_selector(planned)
    before, lines, joint = values(page), page.locator("#shell").inner_text(), cell(page, "joint", 0)
    assert "--squared-change 0.75" in lines
    page.reload()
    page.wait_for_selector(planned)
    assert values(page) == before
    assert (page.locator("#shell").inner_text(), cell(page, "joint", 0)) == (lines, joint)


def test_a_mistake_is_told_beside_its_field_and_can_be_mended(shown: Opened) -> None:
    page = shown.page
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    before = page.locator("#shell").inner_text()
    assert "dpverify plan --epsilon 1 " in before
    mistakes = {
        "epsilon": "1e999999999",
        "users": "99999999999",
        "delta": "<img src=x onerror=alert(1)>",
        "squared_change": "5",
        "instances": "",
    }
    for name, text in mistakes.items():
        field, message = page.locator(f"#{name}"), page.locator(f"#{name}-error")
        right = field.input_value()
        field.fill(text)
        message.wait_for(state="visible")
        assert message.inner_text().startswith(f"{name}=")
        assert field.get_attribute("aria-invalid") == "true"
        assert f"{name}-error" in (field.get_attribute("aria-describedby") or "")
        for lines in ("shell", "python"):  # settings that cannot be computed have none
            assert "cannot be computed" in page.locator(f"#{lines}").inner_text()
            assert page.locator(f"[data-copy={lines}]").is_disabled()
        field.fill(right)
        message.wait_for(state="hidden")
    page.wait_for_selector(DONE)
    assert page.locator("#shell").inner_text() == before
    assert page.locator("[data-copy=shell]").is_enabled()
    # The browser notes the status of a refusal, and nothing else is wrong.
    assert [text for text in shown.complaints if "400 (Bad Request)" not in text] == []
    shown.complaints.clear()


def lines(*answers: dict[str, object]) -> str:

    first = {
        "state": {"bitsum": "rr"},
        "shell": "s",
        "python": "p",
        "pieces": ["quick/exact", "plan/exact", "users/exact/1", "users/exact/2"],
    }
    return "".join(json.dumps(line) + "\n" for line in (first, *answers))


def test_a_quick_plan_is_marked_until_the_best_is_there_and_nothing_jumps(shown: Opened) -> None:
    page = shown.page
    ends = "() => document.querySelector('#figure-users .plot').layout.yaxis.range"
    row, faint = page.locator("#plans tbody tr:has(.key.exact)"), "#figure-users .scatterlayer .trace"
    before, height = page.evaluate(ends), row.bounding_box()["height"]  # type: ignore[index]
    quick = {"bitsum_rmse": 1.5, "messages_per_user": 1.0, "notes": [], "proved": True, "text": "0.99"}
    point = {"piece": "users/exact/1", "x": 100.0, "y": 1.5, "proved": True}
    page.route("**/answers*", lambda route: route.fulfill(body=lines({"piece": "quick/exact", "plan": quick}, point)))
    page.locator("#users").fill("60")
    page.locator("#plans", has_text="being refined").wait_for()
    assert row.locator("td").first.inner_text().startswith("at most 1.5")
    assert row.locator("td").nth(1).inner_text() == "at most 0.99"
    assert row.bounding_box()["height"] == height  # type: ignore[index]
    # The curve before is seen beside the first new point, between ends that only move outwards.
    page.wait_for_function(f"() => document.querySelectorAll('{faint}').length === 2")
    low, high = page.evaluate(ends)
    assert low <= before[0]
    assert high >= before[1]
    page.unroute("**/answers*")
    page.locator("#users").fill("50")
    page.wait_for_selector(DONE)
    assert "being refined" not in row.inner_text()
    assert page.evaluate(ends) == pytest.approx(before)
    assert shown.complaints == []


def test_a_hostile_link_is_words(browser: Browser, server: Served) -> None:
    links = (
        "?epsilon=nan&users=" + "9" * 3000 + "&delta=%3Cscript%3Ealert(1)%3C/script%3E",
        "?%3Cimg%20src=x%20onerror=alert(1)%3E=1",
        "?__proto__=1&epsilon=1&epsilon=2",
        "?bitsum=%22%3E%3Csvg%20onload=alert(1)%3E",
    )
    with opened(browser, server.url + links[0]) as found:
        page = found.page
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        for link in links:
            page.goto(server.url + link)
            problem = page.locator(".problem:visible").first
            problem.wait_for()
            assert problem.inner_text().endswith(".")
            assert page.locator("#controls script, #controls img, #controls svg").count() == 0
        page.get_by_role("button", name="Start again").click()
        page.locator("#plans .key.exact").wait_for()
        assert page.locator(".problem:visible").count() == 0
        assert [text for text in found.complaints if "400 (Bad Request)" not in text] == []


def test_what_was_shown_is_pale_until_it_is_of_the_new_settings_and_a_server_that_has_ended_is_told(
    shown: Opened,
) -> None:
    page = shown.page
    page.route("**/answers*", lambda route: None)  # an engine that takes for ever
    page.locator("#users").fill("60")
    page.wait_for_selector("#figure-users .plot.stale")
    assert "ask" in page.locator("#waiting").inner_text().lower()
    assert page.locator("#plans.stale").count() == 1
    assert page.locator("#epsilon").is_enabled()
    page.unroute("**/answers*")
    page.route("**/answers*", lambda route: route.abort("connectionrefused"))
    page.locator("#users").fill("70")
    page.locator("#link-error").wait_for(state="visible")
    assert "dpverify serve" in page.locator("#link-error").inner_text()
    page.unroute("**/answers*")
    assert all("REFUSED" in text for text in shown.complaints)
    shown.complaints.clear()


def test_the_lines_are_copied(shown: Opened) -> None:
    page = shown.page
    for name in ("shell", "python", "link"):
        page.locator(f"[data-copy={name}]").click()
        page.locator("#status", has_text=f"{name} copied").wait_for(state="attached")
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert copied == page.locator(f"#{name}").inner_text()
    assert page.locator("#link").inner_text() == page.url


def test_without_scripts_it_says_what_to_do(browser: Browser, server: Served) -> None:
    with opened(browser, server.url, script=False) as found:
        assert "JavaScript" in found.page.locator("noscript").inner_text()
