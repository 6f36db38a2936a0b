"""A private classifier on real embeddings: accuracy within a budget, a million rows in constant memory, and a cluster.

    python -m benchmarks.private_classifier EMBEDDINGS.npz --folder FOLDER

EMBEDDINGS holds points `X` (n, d) and labels `y`. A fifth of the points is held out. Three parts, each in processes of
its own: accuracy without privacy and at several epsilon, label epsilon 5; `dpverify classify` of a Parquet file of the
points, repeated to `--rows` rows, with its peak memory; and the same rows as a Dask DataFrame on two processes, whose
published values must equal, for the same seed, those of the same partitions counted one after the other. The file, of
1.5 GB for a million rows of 384 dimensions, is deleted in the end.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify import PrivateDensityClassifier

KERNELS = ("inner-product", "gaussian")
ROW_GROUP = 10_000


def split(path: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return points and labels of the users, and of those held out, in an order that is fixed."""
    with np.load(path) as file:
        X, y = file["X"].astype(np.float32), file["y"]
    order = np.random.default_rng(0).permutation(len(X))
    users, others = order[len(X) // 5 :], order[: len(X) // 5]
    return X[users], y[users], X[others], y[others]


def accuracies(path: Path, repeats: int) -> None:
    """Print the accuracy of every kernel and budget, over runs of fresh noise and features."""
    X, y, queries, truth = split(path)
    for kernel in KERNELS:
        for epsilon in (math.inf, 2.0, 1.0, 0.5):
            label = math.inf if epsilon == math.inf else 5.0
            start, found = time.perf_counter(), []
            for run in range(repeats):
                made = PrivateDensityClassifier(
                    epsilon=epsilon, label_epsilon=label, kernel=kernel, classes=np.unique(y), random_state=run,
                    public_random_state=run,
                )  # fmt: skip
                found.append(made.fit(X, y).score(queries, truth))
            seconds = (time.perf_counter() - start) / repeats
            mean, spread = np.mean(found), np.std(found)
            print(
                f"{kernel:>14}  epsilon {epsilon:>4g}: {mean:.3f} +- {spread:.3f}  ({seconds:.1f} s a fit)", flush=True
            )


def write_rows(path: Path, X: NDArray[Any], y: NDArray[Any], rows: int) -> None:
    """Write the points again and again, a group of rows at a time."""
    import pyarrow
    from pyarrow import parquet

    fields = [("points", pyarrow.list_(pyarrow.float32(), X.shape[1])), ("label", pyarrow.int64())]
    with parquet.ParquetWriter(path, pyarrow.schema(fields), compression="none", use_dictionary=["label"]) as writer:
        for start in range(0, rows, ROW_GROUP):
            chosen = np.arange(start, min(start + ROW_GROUP, rows)) % len(X)
            lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X[chosen].ravel()), X.shape[1])
            columns = [lists, pyarrow.array(y[chosen].astype(np.int64))]
            writer.write_table(pyarrow.table(columns, names=["points", "label"]), row_group_size=ROW_GROUP)


def command(file: Path, test: Path, model: Path) -> None:
    """Run the command line on the file, and print what it says, how long it takes and how much memory."""
    words = [sys.executable, "-m", "dpverify", "classify", str(file), "--labels", "label", "--epsilon", "1"]
    start = time.perf_counter()
    done = subprocess.run(
        [*words, "--test", str(test), "--output", str(model), "--json"], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    found = json.loads(done.stdout)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"dpverify classify: {found['users']:,} users, accuracy {found['accuracy']:.3f}, {seconds:.0f} s, "
        f"peak {peak:.0f} MB for a file of {file.stat().st_size / 1e6:,.0f} MB, "
        f"model {model.stat().st_size / 1e3:.0f} kB"
    )


def peak() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cluster(file: Path, X: NDArray[Any], y: NDArray[Any], classes: NDArray[Any]) -> None:
    """Fit on two worker processes, and count the same partitions one after the other."""
    import dask
    import dask.array
    from distributed import Client, LocalCluster
    from pyarrow import parquet

    rows = parquet.ParquetFile(file).metadata.num_rows
    parts = range(math.ceil(rows / ROW_GROUP))
    settings: dict[str, Any] = {"epsilon": 1, "classes": classes.tolist(), "random_state": 1}

    def points(part: int) -> NDArray[Any]:
        column = parquet.ParquetFile(file).read_row_group(part, ["points"]).column("points").combine_chunks()
        return np.asarray(column.flatten().to_numpy()).reshape(-1, X.shape[1])

    def labels(part: int) -> NDArray[Any]:
        return np.asarray(parquet.ParquetFile(file).read_row_group(part, ["label"]).column("label").to_numpy())

    sizes = [min(ROW_GROUP, rows - part * ROW_GROUP) for part in parts]
    delayed = dask.delayed
    lazy_points = [
        dask.array.from_delayed(delayed(points)(part), (sizes[part], X.shape[1]), np.float32) for part in parts
    ]
    lazy_labels = [dask.array.from_delayed(delayed(labels)(part), (sizes[part],), np.int64) for part in parts]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GB", dashboard_address=None) as workers,
        Client(workers) as client,
    ):
        start = time.perf_counter()
        made = PrivateDensityClassifier(**settings)
        made.fit(dask.array.concatenate(lazy_points), dask.array.concatenate(lazy_labels))
        seconds = time.perf_counter() - start
        peaks = client.run(peak)
        own = peak()
    score = made.score(X, y)
    same = PrivateDensityClassifier(**settings).fit_chunks((points(part), labels(part)) for part in parts)
    equal = all(
        np.array_equal(one.published, two.published)
        for one, two in zip(made.protocol_.densities_, same.protocol_.densities_, strict=True)
    )
    print(
        f"Dask, 2 processes: accuracy {score:.3f}, {seconds:.0f} s, peak {max(peaks.values()):.0f} MB a worker, "
        f"{own:.0f} MB the client; "
        f"published values {'equal to' if equal else 'OTHER THAN'} those of the same partitions one after the other"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("--folder", type=Path, default=Path(), help="Where the large file is written, and deleted.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-accuracy", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not arguments.skip_accuracy:
        accuracies(arguments.embeddings, arguments.repeats)
    X, y, queries, truth = split(arguments.embeddings)
    file, test, model = (arguments.folder / name for name in ("rows.parquet", "test.npz", "model.npz"))
    try:
        write_rows(file, X, y, arguments.rows)
        np.savez(test, X=queries, label=truth)
        command(file, test, model)
        cluster(file, queries, truth, np.unique(y))
    finally:
        for path in (file, test, model):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
