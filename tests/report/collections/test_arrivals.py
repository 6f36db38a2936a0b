"""The table of what has arrived says of each query whether it can be released."""

from pathlib import Path

import pytest

from dpverify.collection.manifest import manifest
from dpverify.collection.store import Arrived, Collected
from protocols.bitsum import LocalRandomizedResponse
from tests.collection.test_store import opened, uploads


@pytest.mark.parametrize(
    ("uploads", "state", "said"),
    [
        (0, "open", "lacks 1,800"),
        (1_799, "open", "lacks 1"),
        (1_800, "open", "can be, with --least 1800"),
        (2_000, "open", "can be"),
        (1_900, "closed", "begun: ask for it again"),
        (1_900, "released", "yes"),
    ],
)
def test_it_says_what_a_release_would(uploads: int, state: str, said: str) -> None:
    text = str(Collected("day", "2027-01-31T08:00Z", (Arrived("q", uploads, 2_000, 2_000, 1_800, state),)))
    assert text.startswith("day, collected since 2027-01-31T08:00Z\n")
    assert text.splitlines()[-1].split(maxsplit=4) == ["q", f"{uploads:,}", "2,000", "1,800", said]


def test_local_reports_need_no_others_and_an_old_folder_has_no_time(tmp_path: Path) -> None:
    plan = manifest([("q", LocalRandomizedResponse(24, 0.25))], delta=0)
    store = opened(tmp_path / "day", plan)
    store.add(uploads(plan, [1]))
    store._database.execute("PRAGMA user_version = 0")
    assert str(store.collected()).splitlines()[0] == "day"
    assert str(store.collected()).splitlines()[-1].split() == ["q", "1", "24", "-", "can", "be"]
