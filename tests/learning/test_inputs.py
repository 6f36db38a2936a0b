"""What are no points, groups or sums: one sentence that names them."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.decoding import decode
from dpverify.learning.density import PrivateDensity
from dpverify.learning.features import PublicFeatures
from dpverify.learning.files.data import open_data
from dpverify.learning.files.model import load_model, save_model
from dpverify.learning.inputs import validated
from dpverify.learning.scale import PublicScale
from tests.learning.points import blobs

X, Y = blobs(20, 2, 3, 0)
MODEL = PrivateDensityClassifier(epsilon=math.inf, label_epsilon=math.inf, classes=[0, 1], bits=32, random_state=0)
DENSITY = PrivateDensity(epsilon=math.inf, bits=32, random_state=0)
SUMS = MODEL.partial_sums(X, Y, part=0)


class Table:
    """Columns with their types, as of a data frame."""

    columns = ("when",)
    dtypes = {"when": np.dtype("datetime64[ns]")}  # noqa: RUF012


def classes(values: object) -> Callable[[], object]:
    return lambda: PrivateDensityClassifier(epsilon=math.inf, label_epsilon=math.inf, bits=32, classes=values).fit(X, Y)


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "chunks none": (lambda: MODEL.fit_chunks(None), "chunks=None must be a list or another iterable of pairs (X, y)"),
    "chunks number": (lambda: MODEL.chunk_sums(5), "chunks=5 must be a list or another iterable of pairs (X, y)"),
    "chunks text": (lambda: MODEL.fit_chunks("ab"), "chunks='ab' must be a list or another iterable of pairs (X, y)"),
    "chunks mapping": (lambda: MODEL.fit_chunks({1: 2}), "chunks={1: 2} must be a list or another iterable of pairs"),
    "chunks array": (lambda: MODEL.fit_chunks(X), "chunks=a ndarray must be a list or another iterable of pairs"),
    "chunks of texts": (lambda: MODEL.fit_chunks(iter(["ab"])), "chunks must yield pairs (X, y) of points and labels"),
    "widths": (lambda: MODEL.fit_chunks([(X, Y), (X[:, :2], Y)]), "partial sums are of points of 3 and 2 coordinates"),
    "nobody": (lambda: MODEL.fit_chunks([(X[:0], Y[:0])]), "chunks has no users, but must have at least 1."),
    "sums none": (lambda: MODEL.fit_sums(None), "sums=None must be a list or another iterable of PartialSums"),
    "sums text": (lambda: MODEL.fit_sums("ab"), "sums='ab' must be a list or another iterable of PartialSums"),
    "sums of others": (lambda: MODEL.fit_sums([SUMS, 5]), "sums=5 must be PartialSums"),
    "sums and 5": (lambda: SUMS + 5, "partial sums must be added to PartialSums, not to a int."),
    "5 and sums": (lambda: 5 + SUMS, "partial sums must be added to PartialSums, not to a int."),
    "other classes": (
        lambda: PrivateDensityClassifier(**{**MODEL.get_params(), "classes": [0, 1, 2]}).fit_sums(SUMS),
        "sums have classes=[0, 1], but must have those of the estimator, [0, 1, 2].",
    ),
    "plans for none": (lambda: MODEL.plan_for(None, print), "sums=None must be PartialSums"),
    "plans told to none": (lambda: MODEL.plan_for(SUMS, None), "progress=None must be a function"),
    "density none": (lambda: DENSITY.fit_chunks(None), "chunks=None must be a list or another iterable of groups of"),
    "density mapping": (lambda: DENSITY.fit_chunks({"a": X}), "chunks=a dict must be a list or another iterable of"),
    "density array": (lambda: DENSITY.fit_chunks(X), "chunks=a ndarray must be a list or another iterable of groups"),
    "density of none": (lambda: DENSITY.fit_chunks([None]), "X=None must be points, an array or a table"),
    "density of pairs": (lambda: DENSITY.fit_chunks([(X, Y)]), "X=a tuple of 2 must be points"),
    "points none": (lambda: MODEL.fit(None, Y), "X=None must be points, an array or a table"),
    "points text": (lambda: DENSITY.fit("abc"), "X='abc' must be points, an array or a table"),
    "points of texts": (lambda: DENSITY.fit([["a", "b"]]), "X must have real numbers alone, in rows of one length: "),
    "rows": (lambda: DENSITY.fit([[1.0], [1.0, 2.0]]), "X must have real numbers alone, in rows of one length: "),
    "times": (lambda: validated(MODEL, Table()), "X has the column 'when' of datetime64[ns], but must have real"),
    "classes of kinds": (classes([None, 1]), "classes=[None, 1] must have no missing label."),
    "classes with nan": (classes([math.nan, 1]), "classes=[nan, 1] must have no missing label."),
    "bounds of texts": (lambda: PublicScale.of(("a", "b")), "public_scale has low='a', but must have finite numbers"),
    "bounds of lengths": (lambda: PublicScale.of(([0, 0], [1, 1, 1])), "public_scale has 2 low and 3 high bounds"),
    "no scale": (lambda: PublicScale.of(None), "public_scale=None must be 'unit', a radius, or two bounds (low, high)"),
    "no bandwidth": (lambda: PublicFeatures("gaussian", 3, None), "bandwidth=None must be a number in (0, inf)"),
    "save nothing": (lambda: save_model(None, "x.npz"), "classifier=None must be a Private"),  # type: ignore[arg-type]
    "save unfitted": (lambda: save_model(MODEL, "x.npz"), "This PrivateDensityClassifier instance is not fitted yet."),
    "load nothing": (lambda: load_model(None), "path=None must be the path of a file"),  # type: ignore[arg-type]
    "open nothing": (lambda: open_data(5), "path=5 must be the path of a file"),  # type: ignore[arg-type]
    "labels of a number": (lambda: open_data("x.npz", 5), "labels=5 must be the name of the labels' array"),  # type: ignore[arg-type]
    "decode nothing": (lambda: decode(None, None), "classifier=None must be a fitted PrivateDensityClassifier."),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_one_sentence_that_names_it(name: str) -> None:
    call, said = WRONG[name]
    with pytest.raises((TypeError, ValueError, AttributeError), match=rf"^{re.escape(said)}") as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")
def test_empty_groups_of_a_stream_are_nobody() -> None:
    whole = MODEL.fit_chunks([(X, Y)]).reported_counts_.copy()
    np.testing.assert_array_equal(MODEL.fit_chunks([(X[:0], Y[:0]), (X, Y), ([], [])]).reported_counts_, whole)
    assert DENSITY.fit_chunks([X, X[:0]]).users_ == len(X)


def test_sums_may_be_added_by_sum() -> None:
    other = MODEL.partial_sums(X, Y, part=1)
    assert sum([SUMS, other]).users == 2 * len(X)
