"""What a verdict rests on: looks and their faults, as plain values."""

from __future__ import annotations

import json

from dpverify.audit.limits import Limits, Look

ORDER = Look("order", "messages of a sorted dataset", "one message in 100 left in place")
VIEW = Look("view", "the counts")


def test_a_look_says_what_it_would_have_shown() -> None:
    assert str(ORDER) == "order: messages of a sorted dataset (would have shown one message in 100 left in place)"
    assert str(VIEW) == "view: the counts"


def test_limits_are_plain_json() -> None:
    both = Limits((ORDER, VIEW), ("timing", "other datasets"))
    assert json.loads(json.dumps(both.to_dict())) == both.to_dict()
    assert both.to_dict()["tested"][1] == {"aspect": "view", "where": "the counts", "fault": ""}
