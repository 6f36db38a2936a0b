"""A report as a table: all plans, and the one to take."""

from dpverify.report.dossiers import dossier_table
from dpverify.report.tables import as_text
from tests.dossier.small import small


def test_the_plans_and_the_recommended_one_are_shown() -> None:
    text = as_text(dossier_table(small()))
    assert all(row.bitsum.split("-")[0] in text for row in small().plans.rows)
    assert "Recommended: rr, exact. It was asked for." in text
