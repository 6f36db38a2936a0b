"""The table and the figure of RAPPOR's plans."""

import re

from dpverify.planning.rappor import plan_rappor
from dpverify.report.plans.rappor import rappor_losses, rappor_table
from tests.report.printing import printed

PLAN = plan_rappor("1", "4", users=100_000)


def test_the_table_shows_every_row_and_how_to_check_the_best() -> None:
    text = printed(rappor_table(PLAN))
    lines = re.findall(r"^ *[124]  .*", text, flags=re.MULTILINE)
    assert len(lines) == len(PLAN.rows) == 3
    for line, row in zip(lines, PLAN.rows, strict=True):
        assert line.split()[:2] == [str(row.protocol.hashes), f"{row.protocol.f:.4g}"]
        assert float(line.split()[-1].replace(",", "")) == round(row.least_holders)
        # Rounded up, though not above what was asked for.
        assert line.split()[5:7] == ["1", "4"]
    assert "one report 1, all on one value 4; 128 bits, 100,000 users" in " ".join(text.split())
    assert f"--f {PLAN.best.protocol.f!r}" in " ".join(text.split())
    assert "1,282" in str(PLAN)


def test_the_figure_has_what_reports_reveal() -> None:
    axes = rappor_losses(PLAN)
    lines = {str(line.get_label()): line for line in axes.lines}
    assert list(lines) == ["with memory", "without memory", "permanent response"]
    reports, losses = lines["with memory"].get_data()
    assert losses[0] == PLAN.best.epsilon_one.upper
    assert losses[-1] <= PLAN.best.epsilon_limit.upper
    assert losses[3] == PLAN.best.after(int(reports[3])).upper
    assert lines["without memory"].get_ydata()[-1] == 100 * PLAN.best.epsilon_one.upper
    assert axes.get_xlabel() == "reports on one value"
    assert PLAN.plot(axes) is axes
