"""Words of highest density."""

from dataclasses import replace

import numpy as np
import pytest

from dpverify.reproduction.embeddings import Words
from dpverify.reproduction.experiment import find_experiments
from tests.reproduction.small import small_setting


@pytest.mark.long
def test_words_are_of_their_class_and_judged_where_that_is_known() -> None:
    (experiment,) = find_experiments("wagner2025-table-6")
    setting = small_setting()
    found = experiment.run(setting)
    joint = [row for row in found.rows if row["accounting"] == "joint" and row["kernel"] == "IP"]
    assert [row["class"] for row in joint] == ["0", "1", "2"]
    assert np.mean([row["own"] for row in joint]) > 0.5
    assert {finding.holds for finding in found.findings} <= {True, False}

    words = Words(("up", "down", "left"), np.eye(8)[:3])
    unknown = experiment.run(replace(setting, data=replace(setting.data, vocabulary=words)))
    assert not unknown.findings
    assert {row["own"] for row in unknown.rows} == {None}
    assert all(set(row["words"].split(", ")) == set(words.words) for row in unknown.rows)
