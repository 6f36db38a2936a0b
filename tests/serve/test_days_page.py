"""The page of designs and days in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from dpverify.planning.account import account
from dpverify.planning.schedules.days import days_in
from dpverify.serve.texts import LONGEST
from tests.browser import PHONE, Opened, barriers, opened
from tests.serve.served import Served
from tests.serve.test_spent import EXAMPLES
from tests.serve.test_texts import DAYS, DESIGN

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DONE = "#results[aria-busy=false]"


def link(server: Served, text: str, **fields: str) -> str:
    return f"{server.url}days#{urlencode({**fields, 'text': text})}"


@pytest.fixture(scope="module")
def once(browser: Browser, server: Served) -> Iterator[Opened]:
    allowed = ["clipboard-read", "clipboard-write"]
    with opened(browser, link(server, DAYS, delta="1e-7"), permissions=allowed) as found:
        yield found


@pytest.fixture
def shown(once: Opened, server: Served) -> Iterator[Opened]:
    """One window for all, as for the other page."""
    write(once.page, DAYS)
    yield once
    assert once.complaints == []
    assert once.outside(server.url) == []


def write(page: Page, text: str) -> None:
    """Write a text, and wait for its answer."""
    page.locator("#text").fill(text)
    page.wait_for_function("text => new URLSearchParams(location.hash.slice(1)).get('text') === text", arg=text)
    page.wait_for_selector(DONE)


def test_it_shows_what_the_library_says_and_its_link_and_its_file_hold_the_text(
    shown: Opened, browser: Browser, server: Served
) -> None:
    page, text = shown.page, DAYS.replace("90", "95")
    write(page, text)
    result = account(days_in(text.encode(), "it", objects=False), delta="1e-7")
    page.locator("figure summary").click()
    rows = page.locator("figure tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [[str(runs), str(end)] for runs, end in result.cumulative()]
    assert "from" in (page.locator("#figures [role=img]").get_attribute("aria-label") or "")
    # Between marks the upper line is at the later one's and the lower at the earlier one's: both stay bounds.
    shapes = page.evaluate("() => document.querySelector('#figures .plot').data.map(one => one.line.shape)")
    assert shapes == ["hv", "vh", "vh"]
    page.locator("[data-copy=link]").click()
    page.locator("#status", has_text="link copied").wait_for(state="attached")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    with opened(browser, copied) as other:
        other.page.wait_for_selector(DONE)
        assert other.page.locator("#text").input_value() == text
        assert other.page.locator("#found").inner_text() == page.locator("#found").inner_text()
        assert other.page.locator("#delta").input_value() == "1e-7"
    with page.expect_download() as saved:
        page.locator("#save").click()
    assert saved.value.suggested_filename == "days.csv"
    assert saved.value.path().read_text() == text


def test_a_mistake_is_one_sentence_and_the_answer_before_stays_marked(shown: Opened) -> None:
    page = shown.page
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    before = page.locator("#found").inner_text()
    for wrong in (f"{DAYS}xx,9,1\n", "<img src=x onerror=alert(1)>", "#" * (LONGEST + 1)):
        page.locator("#text").fill(wrong)
        page.locator("#text-error").wait_for()
        page.locator("#before").wait_for()
        assert page.locator("#text-error").inner_text().endswith(".")
        assert page.locator("#text").get_attribute("aria-invalid") == "true"
        assert page.locator("#found.stale").inner_text() == before
        assert page.locator("[data-copy=shell]").is_disabled()
        write(page, DAYS)
        assert page.locator("#text-error:visible, #before:visible, #found.stale").count() == 0
    page.locator("#delta").fill("2")
    page.locator("#delta-error").wait_for()
    page.locator("#delta").fill("1e-7")
    page.locator("#delta-error").wait_for(state="hidden")
    page.wait_for_selector(DONE)
    assert [text for text in shown.complaints if "400 (Bad Request)" not in text] == []
    shown.complaints.clear()


def test_a_field_that_a_link_brings_is_shown_where_it_is_refused(browser: Browser, server: Served) -> None:
    with opened(browser, link(server, DAYS, delta="<b>")) as found:
        found.page.locator("#delta-error:visible").wait_for(timeout=10_000)
        assert found.page.locator("#delta").input_value() == "<b>"


def test_a_figure_says_that_it_is_not_whole_and_editing_interrupts(shown: Opened) -> None:
    page, text = shown.page, DAYS.replace("80", "85")
    found = {"parts": [{"text": "Two"}], "shell": "s", "python": "p", "left_out": 0}
    curve = {"delta": "1e-06", "left": 2, "budgets": [{"x": 9, "upper": 2.0, "text": "2"}]}
    first = {"curve": 0, "left": 1, "points": [{"x": 9, "lower": 0.5, "upper": 1.0, "text": "[0.5, 1]"}]}
    said = [{"name": "collection.toml"}, {**found, "curves": [curve]}, first]
    body = "".join(json.dumps(line) + "\n" for line in said)
    page.route("**/texts*", lambda route: route.fulfill(body=body))
    page.locator("#text").fill(text)
    page.locator("#figures", has_text="1 to come").wait_for()
    assert page.locator("#fields").is_hidden()  # a design has its own
    page.locator("#link-error").wait_for()  # the answer broke off
    page.unroute("**/texts*")
    page.route("**/texts*", lambda route: None)  # an engine that takes for ever
    page.locator("#text").fill(f"{text}\n")
    page.wait_for_selector("#found.stale")
    assert page.locator("#progress:indeterminate").count() == 1
    page.unroute("**/texts*")
    write(page, text)
    assert page.locator("#link-error").is_hidden()
    assert "3 runs" in page.locator("#found").inner_text()


def test_the_keyboard_alone_chooses_an_example_and_goes_back(shown: Opened) -> None:
    page = shown.page
    page.locator("body").click(position={"x": 1, "y": 1})
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.textContent") == "Days that differ":
            break
    page.keyboard.press("Enter")
    page.wait_for_function("text => document.getElementById('text').value === text", arg=EXAMPLES["Days that differ"])
    page.wait_for_selector(DONE)
    assert "noisy-step" in page.locator("#found").inner_text()
    page.go_back()
    page.wait_for_function("text => document.getElementById('text').value === text", arg=DAYS)
    page.wait_for_selector(DONE)


def test_both_pages_lead_to_each_other(browser: Browser, server: Served) -> None:
    with opened(browser, server.url) as found:
        for title in ("Designs and days", "One sum"):
            found.page.get_by_role("link", name=title).click()
            found.page.locator(f"nav [aria-current=page] >> text={title}").wait_for()
        assert found.complaints == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("written", [pytest.param(DESIGN, marks=pytest.mark.long), DAYS])
def test_nothing_keeps_anybody_from_using_it_also_on_a_phone(
    browser: Browser, server: Served, dark: bool, written: str
) -> None:
    size = {"size": PHONE, "reduced_motion": "reduce"} if dark else {}
    with opened(browser, link(server, written), dark=dark, **size) as found:
        found.page.wait_for_selector(DONE)
        assert found.sideways() == []
        assert found.complaints == []
        assert barriers(found.page) == []
        found.page.locator("#text").fill("users = ")
        found.page.locator("#text-error").wait_for()
        assert found.sideways() == []
        assert barriers(found.page) == []


def test_the_page_knows_how_long_a_text_may_be(shown: Opened) -> None:
    assert shown.page.locator("#text").get_attribute("data-longest") == str(LONGEST)


def test_without_scripts_it_says_what_to_do(browser: Browser, server: Served) -> None:
    with opened(browser, f"{server.url}days", script=False) as found:
        assert "JavaScript" in found.page.locator("noscript").inner_text()
