"""What fills the template: numbers on their own side, and commands that give the same again."""

import math
import shlex
from dataclasses import replace

from dpverify.dossier.contents import Evidence
from dpverify.report.html.parts import _figure, parts
from tests.dossier.small import HOSTILE, audit, small, small_page


def test_every_plan_is_a_row_and_a_failed_one_has_its_reason() -> None:
    (table,) = parts(small())["plan_tables"]
    assert len(table["rows"]) == len(small().plans.rows)
    assert [row["bitsum"] for row in table["rows"] if row["chosen"]] == ["rr"]
    failed = [row for row in table["rows"] if row["bitsum"] == "poisson" and row["method"] == "published"]
    assert table["notes"][failed[0]["marks"][0] - 1].startswith("No plan: No source of this project")
    assert [table["caption"] for table in parts(small("0.5"))["plan_tables"]][1].startswith("Joint change: ")


def test_both_ends_of_what_an_attacker_reaches_are_shown() -> None:
    meaning = small().meaning
    row = next(row for row in parts(small())["meaning"] if row["about"] == "guess at prior 0.5")
    assert float(row["least"]) <= 0.5 + 0.5 * meaning.advantage.midpoint <= float(row["most"])
    cells = "".join(f'<td class="number">{row[name]}</td>' for name in ("blind", "least", "most"))
    assert f'<th scope="row">guess at prior 0.5</th>{cells}' in small_page()


def test_numbers_of_a_file_are_numbers_or_nothing() -> None:
    assert _figure(0.25) == ("0.25", "0.25")
    assert [_figure(value) for value in ("<b>", None, True, math.nan, math.inf, [], 10**400)] == [("–", "")] * 7


def test_commands_write_the_same_report_and_find_the_same_plan() -> None:
    plan, report, python = (text for _, _, text in parts(small("0.5"))["commands"])
    words = shlex.split(report)
    assert words[:3] == ["dpverify", "report", "report.html"]
    assert words[-1] == f"--title={HOSTILE}"
    assert words[words.index("--squared-change") + 1] == "0.5"
    assert words[words.index("--bitsum") + 1] == "rr"  # it was asked for
    others = parts(replace(small("0.5"), reason="It has the fewest messages."))["commands"]
    assert "--bitsum" not in others[1][2]
    assert shlex.split(plan)[1] == "plan"
    space: dict[str, object] = {}
    exec(python, space)
    assert space["protocol"] == small().chosen.protocol
    assert space["row"].protocol == small().chosen.protocol  # type: ignore[attr-defined]


def test_tests_of_one_kind_are_one_row_with_the_least_power() -> None:
    results = [
        {"check": f"law, {where}", "verdict": "consistent", "fault": "f", "p_value": p, "power": power, "details": {}}
        for where, p, power in (("a", 0.5, 1.0), ("b", 0.25, 0.9), ("c", 1.0, 1.0))
    ]
    found = parts(replace(small(), audit=Evidence("given", audit(results=results))))["audit"]
    assert [(row["check"], row["p"], row["power"]) for row in found["rows"]] == [("law, 3 times", "0.25", "0.9")]


def test_a_file_with_endless_tests_makes_no_endless_page() -> None:
    results = [{"check": f"law {number}", "verdict": "consistent"} for number in range(250)]
    found = parts(replace(small(), audit=Evidence("given", audit(results=results))))["audit"]
    assert (len(found["rows"]), found["left_out"]) == (200, 50)
