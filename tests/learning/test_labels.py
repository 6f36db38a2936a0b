"""Labels are one of a public set, or are refused in one sentence."""

import numpy as np
import pandas
import pytest

from dpverify.learning.labels import check_kinds, indexed


def test_labels_are_found_among_the_public_ones() -> None:
    y = np.array(["b", "a", "b"])
    for classes, expected in ((None, ["a", "b"]), (["c", "b", "a", "b"], ["a", "b", "c"])):
        known, indices = indexed(y, classes)
        assert known.tolist() == expected
        assert known[indices].tolist() == y.tolist()


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ([], r"classes=\[\] must be a list of at least 1 label"),
        ([["a", "b"]], r"classes=\[\['a', 'b'\]\] must be a list"),
        ("b", "classes='b' must be a list"),
        (["a"], r"y\[0\]='b' must be one of classes=\['a'\]"),
    ],
)
def test_what_is_no_public_set_is_said(classes: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        indexed(np.array(["b", "a"]), classes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", 1], dtype=object),
        np.array(["a", None], dtype=object),
        pandas.Series(["a", pandas.NA], dtype="string"),
        pandas.Series(["a", float("nan")]),
    ],
)
def test_texts_beside_other_labels_are_refused_in_one_sentence(y: object) -> None:
    with pytest.raises(ValueError, match=r"^y\[1\]=.* must be a text, as other labels are\.$"):
        check_kinds(y)


def test_labels_of_one_kind_pass() -> None:
    for y in (np.array([True, False]), np.array(["a", "b"], dtype=object), pandas.Series([1, 2]), ["a", "b"]):
        check_kinds(y)
