"""Tables at any width: no word is split, nothing is cut off, colour is not needed."""

import io
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, Group, RenderableType
from rich.text import Text

from dpverify.demo import DemoResult, DemoRow
from dpverify.evidence.theorems import theorems
from dpverify.guarantee import Budget
from dpverify.planning.account import account
from dpverify.planning.sweeps.comparison import Comparison, plan_bitsums
from dpverify.report.layout import Rows, parts_of
from dpverify.report.papers.theorems import theorems_table
from dpverify.report.plans.comparisons import plan_table
from dpverify.report.tables import account_table, demo_table
from protocols.bitsum import CentralGaussian


def printed(table: RenderableType, width: int, environment: Mapping[str, str] | None = None) -> str:
    out = io.StringIO()
    terminal = environment is not None
    Console(file=out, width=width, force_terminal=terminal, _environ=environment or {}).print(table)
    return out.getvalue()


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    bitsums = ["rr", "3nb", "poisson", "central-discrete-gaussian"]
    return plan_bitsums(Budget(2, "1e-6"), users=1000, instances=8, bitsums=bitsums)


@pytest.fixture(scope="module")
def tables(comparison: Comparison) -> dict[str, RenderableType]:
    guarantee = comparison.plans[0].guarantee
    epsilon = account(CentralGaussian(1, 3.0), delta=1e-6).epsilon
    rows = (
        DemoRow("no privacy", None, (0.9,)),
        DemoRow("3nb, published", "published", (0.5,), 1234.5, 98765.4, guarantee, epsilon, ("a note",)),
        DemoRow("rr, exact", "exact", error="it cannot be met"),
    )
    return {
        "plan": plan_table(comparison),
        "account": account_table(account(CentralGaussian(1, 20.0), instances=3, delta=1e-6)),
        "theorems": theorems_table([theorem.to_dict() for theorem in theorems()]),
        "demo": demo_table(DemoResult(Budget(2, "1e-6"), 3.0, 1347, 450, 10, 256, 3, rows)),
    }


def words(text: str) -> set[str]:
    return set(re.findall(r"\S+", text)) - {"─" * length for length in range(1, 400)}


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("name", ["plan", "account", "theorems", "demo"])
def test_every_word_is_printed_whole_at_any_width(tables: dict[str, RenderableType], name: str, width: int) -> None:
    text = printed(tables[name], width)
    assert max(len(line) for line in text.splitlines()) <= width
    wide = {word for word in words(printed(tables[name], 400)) if len(word) <= width - 2}
    # Below each other, a header is followed by a colon.
    assert wide <= words(text) | {word.removesuffix(":") for word in words(text)}


def test_plans_of_all_bitsums_are_a_table_in_eighty_columns(tables: dict[str, RenderableType]) -> None:
    header = next(line for line in printed(tables["plan"], 80).splitlines() if line.startswith("bitsum"))
    assert header.split() == ["bitsum", "method", "RMSE", "messages", "epsilon0", "delta0", "epsilon"]


@pytest.mark.parametrize("width", [40, 80])
def test_no_color_is_respected(tables: dict[str, RenderableType], width: int) -> None:
    coloured = r"\x1b\[[0-9;]*\b(3[0-8]|4[0-8]|9[0-7])\b"
    for table in tables.values():
        terminal = {"TERM": "xterm-256color"}
        assert not re.search(coloured, printed(table, width, {**terminal, "NO_COLOR": "1"}))
        assert "\x1b" not in printed(table, width)


@given(
    rows=st.lists(st.lists(st.text("abc [/]", max_size=12), min_size=3, max_size=3), min_size=1, max_size=4),
    width=st.integers(14, 60),
)
def test_cells_are_printed_as_they_are(rows: list[list[str]], width: int) -> None:
    table = Rows(("one", "two", "three"), ["three"])
    for row in rows:
        table.add_row(*row)
    text = printed(table, width)
    assert max(len(line) for line in text.splitlines()) <= width
    # But for the headers, where they end in a colon or make the first line, all that is printed is the cells.
    assert sorted(re.sub(r"one|two|three|[─:\s]", "", text)) == sorted("".join(map("".join, rows)).replace(" ", ""))


def test_a_row_has_a_cell_for_every_header() -> None:
    with pytest.raises(ValueError, match="must have one entry for each of 2 headers"):
        Rows(("one", "two")).add_row("1")


def test_a_page_gets_what_a_terminal_shows() -> None:
    rows = Rows(("name", "n"), ("n",))
    rows.add_row("[a]", "1,000")
    assert parts_of(Group(Text("Two [b]", style="bold"), rows)) == [
        {"text": "Two [b]"},
        {"headers": ["name", "n"], "numbers": [False, True], "rows": [["[a]", "1,000"]]},
    ]
