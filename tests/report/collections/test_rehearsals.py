"""The table of a rehearsal says how often intervals had the truth."""

from dpverify.collection.rehearsal import Rehearsal, Rehearsed
from dpverify.report.collections.rehearsals import rehearsal_table
from tests.report.printing import printed


def test_every_query_has_a_row() -> None:
    rows = (
        Rehearsed("bits", "bits", 20, 19, 12.34, 50.0, 0),
        Rehearsed("rating", "levels", 2, 2, 0.001234, 0.005, 1),
    )
    text = printed(rehearsal_table(Rehearsal(1_000, 50, 10, 2, 4_096, rows, ())))
    assert "1,000 users, 50 of them silent, 10 cheats; 2 days, 4 kB" in text
    assert "0.001234" in text
    assert "12.3" in text
