"""Points and labels from files, a group of rows at a time: memory does not grow with the file.

- `.npy`: points, shape (n, d); labels in another `.npy` file, whose path is given for `labels`.
- `.npz`: points in the array `X`, or the only array of two dimensions; labels in an array named by `labels`.
- `.parquet`: points in a column of lists, or else in all columns of numbers; labels in the column named by `labels`.
"""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from protocols.classes.optional import needing
from protocols.validation import check_integer

__all__ = ["DataFile", "check_path", "open_data", "read_chunks"]

_ROWS = 16_384
_POINTS = "X"
Chunk = tuple[Any, NDArray[Any] | None]


class DataFile(ABC):
    """A file of points, and labels where they are asked for.

    - path: Where it is.
    - labels: Where its labels are: a name in the file, or a path; None for points alone.
    """

    def __init__(self, path: Path, labels: str | None) -> None:
        self.path, self.labels = path, labels

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of coordinates, d."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the coordinates, where each is a column."""
        return None

    @abstractmethod
    def chunks(self, rows: int = _ROWS) -> Iterator[Chunk]:
        """Yield points, shape (some, d), with their labels, in order; None in place of labels that were not asked for.

        Where the coordinates have names, points are a data frame with these columns.

        Raises ValueError for points that are no real numbers.
        """

    def check_alike(self, what: str, dimension: int, names: tuple[str, ...] | None) -> None:
        """Check that points have as many coordinates as others, and the same names where both have any.

        - what: What has the others.
        - dimension, names: Theirs.

        Raises ValueError if they are not alike.
        """
        if self.dimension != dimension:
            raise ValueError(
                f"{self.path} has points of {self.dimension} coordinates, but must have the {dimension} of {what}."
            )
        if names is not None and self.names is not None and names != self.names:
            raise ValueError(
                f"{self.path} has the columns {_some(self.names)}, but must have {_some(names)}, as {what}."
            )

    @abstractmethod
    def label_chunks(self, rows: int = _ROWS) -> Iterator[NDArray[Any]]:
        """Yield the labels alone."""

    def label_set(self) -> NDArray[Any]:
        """Return the labels that occur, sorted: who uses them **makes that set public**."""
        found: set[Any] = set()
        for labels in self.label_chunks():
            found.update(self._plain(labels).tolist())
        try:
            return np.array(sorted(found))
        except TypeError:
            raise ValueError(f"{self.path} has labels of several kinds in {self.labels}.") from None

    def _plain(self, labels: NDArray[Any]) -> NDArray[Any]:
        """Return labels as whole numbers or texts, after checking that each is there."""
        if labels.ndim != 1:
            raise ValueError(f"{self.path} has labels {self.labels} of shape {labels.shape}, but must have (n,).")
        if labels.dtype.kind == "O":
            if any(label is None or label != label for label in labels):
                raise ValueError(f"{self.path} has a row without a label in {self.labels}.")
            return np.array([label if isinstance(label, str) else str(label) for label in labels])
        if labels.dtype.kind == "f":
            whole = labels.astype(np.int64, casting="unsafe") if np.isfinite(labels).all() else None
            if whole is None or (whole != labels).any():
                raise ValueError(f"{self.path} has labels {self.labels} that are no whole numbers: no classes.")
            return whole
        if labels.dtype.kind not in "iubUS":
            raise ValueError(f"{self.path} has labels {self.labels} of {labels.dtype}, but must have numbers or texts.")
        return labels.astype(str) if labels.dtype.kind == "S" else labels

    def _real(self, points: NDArray[Any]) -> NDArray[Any]:
        if points.ndim != 2 or points.dtype.kind not in "fiub":
            raise ValueError(
                f"{self.path} has points of shape {points.shape} and {points.dtype}, but must have real numbers of "
                "shape (n, d)."
            )
        return points


class _Arrays(DataFile):
    """Arrays in npy format, each a stream: from files, or from the members of an archive."""

    def __init__(self, path: Path, labels: str | None) -> None:
        super().__init__(path, labels)
        self._archive = path.suffix == ".npz"
        self._points = self._name_of_points() if self._archive else str(path)
        self._shape, self._dtype = self._header(self._points)
        if len(self._shape) != 2 or self._dtype.kind not in "fiub":
            raise ValueError(
                f"{path} has points of shape {self._shape} and {self._dtype}, but must have real numbers of shape "
                "(n, d)."
            )
        if labels is not None and self._header(labels)[0] != self._shape[:1]:
            raise ValueError(
                f"{path} has {self._shape[0]} points and labels {labels} of shape {self._header(labels)[0]}, but must "
                "have one for each."
            )

    @property
    def rows(self) -> int:
        return self._shape[0]

    @property
    def dimension(self) -> int:
        return self._shape[1]

    def chunks(self, rows: int = _ROWS) -> Iterator[Chunk]:
        labels = None if self.labels is None else self.label_chunks(rows)
        for points in self._stream(self._points, rows):
            yield self._real(points), None if labels is None else next(labels)

    def label_chunks(self, rows: int = _ROWS) -> Iterator[NDArray[Any]]:
        assert self.labels is not None
        yield from (self._plain(labels) for labels in self._stream(self.labels, rows))

    def _name_of_points(self) -> str:
        names = self._names()
        if _POINTS in names:
            return _POINTS
        matrices = [name for name in names if name != self.labels and len(self._header(name)[0]) == 2]
        if len(matrices) != 1:
            raise ValueError(f"{self.path} has {_arrays(names)}, but must have {_POINTS} for the points.")
        return matrices[0]

    def _names(self) -> list[str]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        except zipfile.BadZipFile as error:
            raise ValueError(f"{self.path} must be an npz file ({error}).") from None

    def _open(self, name: str) -> tuple[IO[bytes], zipfile.ZipFile | None]:
        if not self._archive:
            if not Path(name).is_file():
                raise ValueError(f"{name} must be another npy file, with an entry for each row of {self.path}.")
            return Path(name).open("rb"), None
        archive = zipfile.ZipFile(self.path)
        try:
            return archive.open(f"{name}.npy"), archive
        except KeyError:
            archive.close()
            raise ValueError(f"{self.path} has {_arrays(self._names())}, but must have one named {name!r}.") from None

    def _header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        stream, archive = self._open(name)
        with stream:
            shape, fortran, dtype = self._read_header(stream, name)
        if archive is not None:
            archive.close()
        if dtype.hasobject or (fortran and len(shape) > 1):
            raise ValueError(f"{self.path} has {name} in Python objects or column by column, but must have plain rows.")
        return shape, dtype

    def _read_header(self, stream: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        try:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            found: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(stream)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            if not self._archive:
                raise ValueError(f"{name} must be an npy file, which it is not inside.") from None
            raise ValueError(f"{name} of {self.path} must be in npy format ({error}).") from None
        return found

    def _stream(self, name: str, rows: int) -> Iterator[NDArray[Any]]:
        stream, archive = self._open(name)
        with stream:
            shape, _, dtype = self._read_header(stream, name)
            row = int(np.prod(shape[1:], dtype=np.int64))
            for start in range(0, shape[0], rows):
                count = min(rows, shape[0] - start)
                content = stream.read(count * row * dtype.itemsize)
                if len(content) < count * row * dtype.itemsize:
                    raise ValueError(f"{self.path} ends after row {start} of {shape[0]}: it is not complete.")
                yield np.frombuffer(content, dtype).reshape(count, *shape[1:])
        if archive is not None:
            archive.close()


class _Parquet(DataFile):
    def __init__(self, path: Path, labels: str | None) -> None:
        super().__init__(path, labels)
        with needing(f"{path}"):
            import pandas  # noqa: F401
            import pyarrow
            from pyarrow import parquet
        try:
            self._file: Any = parquet.ParquetFile(path, memory_map=False, pre_buffer=False)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{path} must be a Parquet file ({str(error).rstrip('.')}).") from None
        schema, types = self._file.schema_arrow, pyarrow.types
        if labels is not None and labels not in schema.names:
            raise ValueError(f"{path} has the columns {_some(schema.names)}, but must have one named {labels!r}.")
        others = [field for field in schema if field.name != labels]
        lists = [f.name for f in others if types.is_list(f.type) or types.is_large_list(f.type)]
        lists += [field.name for field in others if types.is_fixed_size_list(field.type)]
        numbers = [field.name for field in others if types.is_integer(field.type) or types.is_floating(field.type)]
        if len(lists) > 1:
            raise ValueError(f"{path} has the columns of lists {_some(lists)}, but must have one, for the points.")
        if not lists and not numbers:
            raise ValueError(f"{path} has the columns {_some(schema.names)}, but must have points: lists or numbers.")
        self._lists, self._columns = bool(lists), lists or numbers

    @property
    def rows(self) -> int:
        return int(self._file.metadata.num_rows)

    @property
    def names(self) -> tuple[str, ...] | None:
        return None if self._lists else tuple(self._columns)

    @property
    def dimension(self) -> int:
        if not self._lists:
            return len(self._columns)
        return next((points.shape[1] for points, _ in self.chunks(1)), 0)

    def chunks(self, rows: int = _ROWS) -> Iterator[Chunk]:
        names = self._columns + ([] if self.labels is None else [self.labels])
        for batch in self._file.iter_batches(batch_size=rows, columns=names):
            labels = None if self.labels is None else self._plain(_array(batch.column(self.labels)))
            yield self._real(self._listed(batch)) if self._lists else self._numbers(batch), labels

    def label_chunks(self, rows: int = _ROWS) -> Iterator[NDArray[Any]]:
        assert self.labels is not None
        for batch in self._file.iter_batches(batch_size=rows, columns=[self.labels]):
            yield self._plain(_array(batch.column(self.labels)))

    def _numbers(self, batch: Any) -> Any:
        import pandas

        columns = [batch.column(name) for name in self._columns]
        self._complete(columns)
        return pandas.DataFrame(np.stack([_array(column) for column in columns], axis=1), columns=self._columns)

    def _listed(self, batch: Any) -> NDArray[Any]:
        column = batch.column(self._columns[0])
        values = column.flatten()
        self._complete([column, values])
        if not len(column) or len(values) % len(column):
            raise ValueError(f"{self.path} has lists of several lengths in {self._columns[0]}.")
        length = len(values) // len(column)
        sizes = getattr(column, "value_lengths", None)
        if sizes is not None and not (_array(sizes()) == length).all():
            raise ValueError(f"{self.path} has lists of several lengths in {self._columns[0]}.")
        return _array(values).reshape(len(column), length)

    def _complete(self, columns: list[Any]) -> None:
        if any(column.null_count for column in columns):
            raise ValueError(f"{self.path} has a row without a value in its points.")


def _array(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _arrays(names: Sequence[str]) -> str:
    return f"the arrays {_some(names)}" if names else "no arrays"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def check_path(name: str, value: Any) -> Path:
    """Return a path after checking that it is a text or a path; others raise TypeError."""
    if not isinstance(value, (str, Path)) or not str(value):
        raise TypeError(f"{name}={value!r} must be the path of a file, as a text or a Path.")
    return Path(value)


def open_data(path: str | Path, labels: str | None = None) -> DataFile:
    """Return a file of points, and labels, to be read in groups of rows.

    - path: An npy, npz or Parquet file.
    - labels: The name of the labels' array or column; for npy the path of another such file. None for points alone.

    Raises ValueError if it is none of these, or lacks what is asked for. Raises OSError if it cannot be opened.
    """
    where = check_path("path", path)
    if labels is not None and not isinstance(labels, (str, Path)):
        raise TypeError(f"labels={labels!r} must be the name of the labels' array or column, or their path.")
    if where.suffix not in (".npy", ".npz", ".parquet", ".pq"):
        raise ValueError(f"{where} must be an npy, npz or parquet file.")
    with where.open("rb"):  # what is not there, or no file, is told in the same words for all
        pass
    return (_Arrays if where.suffix in (".npy", ".npz") else _Parquet)(where, labels)


def read_chunks(path: str | Path, labels: str | None = None, *, rows: int = _ROWS) -> Iterator[Any]:
    """Yield the rows of a file in groups, for `PrivateDensityClassifier.fit_chunks` and `PrivateDensity.fit_chunks`.

    - path, labels: As for `open_data`.
    - rows: At a time, at least 1.

    Yields: Arrays of shapes (some, d) and (some,).
    """
    file = open_data(path, labels)
    for points, found in file.chunks(check_integer("rows", rows, low=1)):
        yield points if labels is None else (points, found)
