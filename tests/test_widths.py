"""The page of widths: what it says is computed again for some of the widest."""

import math

import pytest

from benchmarks.widths import GROUPS, PAGE, Setting, rows_of, width_of

ROWS = rows_of(PAGE.read_text("utf-8"))
_QUICK = 0.35
"""Seconds, as the page says."""


def _widest(kind: str | None, number: int) -> list[tuple[float, Setting, float]]:
    """Return so many of the widest rows of what is accounted quickly: of a protocol, of days, or of joint changes."""
    some = [
        row
        for row in ROWS
        if row[2] <= _QUICK
        and row[0] < math.inf
        and kind == ("joint" if row[1].squared_change else "days" if len(row[1].parts) > 1 else row[1].parts[0][0])
    ]
    return sorted(some, key=lambda row: row[0])[-number:]


@pytest.mark.long
@pytest.mark.parametrize(
    ("width", "setting"),
    [row[:2] for kind in ("rr", "nb", "poisson", "3nb", "days", "joint") for row in _widest(kind, 2)],
    ids=str,
)
def test_no_width_is_more_than_the_page_says(width: float, setting: Setting) -> None:
    found = width_of(setting)
    assert found <= width * (1.0 + 1e-9)


def test_the_page_has_every_group_and_can_be_read() -> None:
    text = PAGE.read_text("utf-8")
    assert all(f"## {title}\n" in text for title in GROUPS.values())
    assert len(ROWS) == sum(line.startswith("| ") for line in text.splitlines()) - len(GROUPS)
    for _, setting, _ in ROWS:
        assert Setting.read(str(setting)) == setting


def test_what_the_explanation_says_of_small_deltas_is_what_the_page_shows() -> None:
    full = [(width, setting) for width, setting, _ in ROWS if not setting.squared_change and len(setting.parts) == 1]
    response = [width for width, setting in full if setting.parts[0][0] == "rr" and setting.delta <= 1e-6]
    assert len(response) > 30
    assert max(response) <= 0.1
    assert len(full) > 100
