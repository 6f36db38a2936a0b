"""A small report, made once for all tests that look at one."""

import functools
from typing import Any

import pytest

from dpverify.dossier import gather
from dpverify.dossier.contents import Dossier

HOSTILE = (
    """</title></script><script>alert(1)</script><img src=x onerror=alert()> & 'quoted' {{ 7 * 6 }} \u202e\ud800"""
)
"""A title that is none of a page's business."""


def audit(**changed: Any) -> dict[str, Any]:
    """Return what an audit prints, with hostile texts where it has names."""
    result = {"check": HOSTILE, "verdict": "consistent", "fault": HOSTILE, "p_value": 0.25, "power": 1.0, "details": {}}
    return {
        "subject": HOSTILE,
        "verdict": "consistent",
        "statement": HOSTILE,
        "trials": 1000,
        "results": [result],
        "loss_rows": [
            {"loss": -0.5, "lower": 0.8, "empirical": 0.9, "upper": 1.0, "exact": 0.95},
            {"loss": 0.5, "lower": 0.1, "empirical": 0.2, "upper": 0.3, "exact": 0.2},
        ],
        "limits": {"tested": [], "not_tested": [HOSTILE]},
        **changed,
    }


@functools.cache
def small(squared_change: str | None = None) -> Dossier:
    """Return a report on sixty users, under a hostile title: with three points of each curve of errors.

    What no joint change changes is that of the report without one.
    """
    with pytest.MonkeyPatch.context() as patch:
        if squared_change is None:
            patch.setattr(gather, "_SHARES", ("1/3", "1", "3"))
            patch.setattr(gather, "_EPSILONS", ("1/2", "1", "2"))
        else:
            known = small()
            patch.setattr(gather, "_errors", lambda *_: (known.by_users, known.by_epsilon))
            patch.setattr(gather, "_crowd", lambda *_: known.crowd)
        return gather.full_report(
            ("1", "1e-4"),
            users=60,
            instances=2,
            squared_change=squared_change,
            bitsum="rr",
            title=HOSTILE,
            audit=audit(),
        )


@functools.cache
def small_page() -> str:
    """Return its page."""
    return small().to_html()
