"""Dask arrays and DataFrames, in one process and on a cluster."""

from typing import Any

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.density import PrivateDensity
from dpverify.learning.files.partitions import is_lazy, rows_in
from dpverify.learning.joint.discriminant import PrivateDiscriminant
from tests.learning.points import blobs

pytestmark = pytest.mark.filterwarnings("ignore::dpverify.learning.guarantee.PrivacyWarning")
X, Y = blobs(400, 2, 4, 0)
SETTINGS: dict[str, Any] = {"bits": 32, "classes": [0, 1], "random_state": 5}


@pytest.fixture(autouse=True)
def in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def by_hand() -> PrivateDensityClassifier:
    chunks = [(X[start : start + 90], Y[start : start + 90]) for start in range(0, 400, 90)]
    return PrivateDensityClassifier(**SETTINGS).fit_chunks(chunks)


@pytest.mark.long
def test_arrays_are_as_the_same_chunks() -> None:
    lazy = dask.array.from_array(X, chunks=(90, 2)), dask.array.from_array(Y, chunks=90)
    made = PrivateDensityClassifier(**SETTINGS).fit(*lazy)
    np.testing.assert_array_equal(made.class_densities(X), by_hand().class_densities(X))


def test_data_frames_are_as_the_same_chunks() -> None:
    table = pandas.DataFrame(X, columns=list("abcd")).assign(y=Y)
    lazy = dask.dataframe.from_pandas(table, npartitions=5)
    pieces = [lazy.get_partition(part).compute() for part in range(lazy.npartitions)]
    made = PrivateDensityClassifier(**SETTINGS).fit(lazy[list("abcd")], lazy["y"])
    same = PrivateDensityClassifier(**SETTINGS).fit_chunks((piece[list("abcd")], piece["y"]) for piece in pieces)
    np.testing.assert_array_equal(made.class_densities(table[list("abcd")]), same.class_densities(table[list("abcd")]))
    assert made.feature_names_in_.tolist() == list("abcd")


@pytest.mark.long
def test_discriminants_are_as_the_same_chunks() -> None:
    settings: dict[str, Any] = {"classes": [0, 1], "random_state": 5, "second_moment": False, "ratio": 2.0}
    table = pandas.DataFrame(X, columns=list("abcd")).assign(y=Y)
    frame = dask.dataframe.from_pandas(table, npartitions=5)
    pieces = [frame.get_partition(part).compute() for part in range(frame.npartitions)]
    assert rows_in(frame) == rows_in(dask.array.from_array(X, chunks=(90, 2))) == 400
    made = PrivateDiscriminant(**settings).fit(frame[list("abcd")], frame["y"])
    same = PrivateDiscriminant(**settings).fit_chunks(((one[list("abcd")], one["y"]) for one in pieces), users=400)
    np.testing.assert_array_equal(made.published_, same.published_)
    assert made.feature_names_in_.tolist() == list("abcd")


@pytest.mark.long
def test_densities_are_as_the_same_chunks() -> None:
    settings: dict[str, Any] = {"bits": 32, "random_state": 5}
    lazy = PrivateDensity(**settings).fit(dask.array.from_array(X, chunks=(90, 4)))
    same = PrivateDensity(**settings).fit_chunks([X[start : start + 90] for start in range(0, 400, 90)])
    np.testing.assert_array_equal(lazy.density(X), same.density(X))


def test_on_a_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    lazy = dask.array.from_array(X, chunks=(90, 4)), dask.array.from_array(Y, chunks=90)
    with (
        distributed.LocalCluster(n_workers=2, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler="dask.distributed"),
    ):
        made = PrivateDensityClassifier(**SETTINGS).fit(*lazy)
    np.testing.assert_array_equal(made.class_densities(X), by_hand().class_densities(X))


def test_what_workers_cannot_share_is_refused() -> None:
    lazy = dask.array.from_array(X, chunks=(90, 4)), dask.array.from_array(Y, chunks=90)
    assert is_lazy(lazy[0])
    assert not is_lazy(X)
    with pytest.raises(TypeError, match=r"must be None or an integer for partitions"):
        PrivateDensityClassifier(**{**SETTINGS, "random_state": np.random.default_rng(0)}).fit(*lazy)
    with pytest.raises(TypeError, match=r"^X and y must both be collections of Dask, or neither\.$"):
        PrivateDensityClassifier(**SETTINGS).fit(lazy[0], Y)
    with pytest.raises(ValueError, match=r"^X has 5 partitions and y has 1, but"):
        PrivateDensityClassifier(**SETTINGS).fit(lazy[0], dask.array.from_array(Y, chunks=400))
