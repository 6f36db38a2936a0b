"""Data from files is checked before anything is made of it."""

from pathlib import Path

import numpy as np
import pytest

from dpverify.reproduction.embeddings import bundled, read


def test_bundled_digits_are_unit_vectors_in_a_fixed_order() -> None:
    digits = bundled()
    assert digits.points.shape == (1797, 64)
    norms = np.linalg.norm(digits.points, axis=1)
    assert norms.max() <= 1.0 + 1e-15
    assert norms.min() > 1.0 - 1e-12
    assert digits.classes == 10
    assert len(digits.test[0]) == 179
    assert len(digits.train[0]) == 1797 - 179
    assert set(digits.words.classes.tolist()) == set(range(10))  # type: ignore[union-attr]


def test_a_file_is_read_with_its_vocabulary(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    data, words = tmp_path / "data.npz", tmp_path / "words.npz"
    np.savez(data, X=rng.standard_normal((30, 4)).astype(np.float32), y=np.repeat([7, 9, 11], 10))
    np.savez(words, words=np.array(["a", "b"]), X=np.eye(4)[:2] * 5)
    found = read(data, words)
    assert found.classes == 3
    assert found.words.words == ("a", "b")
    assert found.words.classes is None
    assert np.allclose(np.linalg.norm(found.words.vectors, axis=1), 1.0)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.ones((30, 2))}, "must be an npz file with the arrays X and y"),
        ({"X": np.ones((30, 2)), "y": np.ones(29)}, r"X of shape \(30, 2\) and y of shape \(29,\)"),
        ({"X": np.zeros((30, 2)), "y": np.ones(30)}, "holds a vector that is 0 or not finite"),
        ({"X": np.full((30, 2), np.nan), "y": np.ones(30)}, "holds a vector that is 0 or not finite"),
        ({"X": np.array([{}] * 30), "y": np.ones(30)}, "must be an npz file"),
        ({"X": np.ones((9, 2)), "y": np.ones(9)}, r"must have \(n, d\) and \(n,\), n in \[10, inf\)"),
        ({"X": np.ones((30, 2)), "y": np.full(30, np.nan)}, "has a label y that is not finite"),
        ({"X": np.ones((30, 2)) + 1j, "y": np.ones(30)}, "has X of complex128, but must have real numbers"),
        ({"X": np.full((30, 2), "1"), "y": np.ones(30)}, "has X of <U1, but must have real numbers"),
    ],
)
def test_what_is_no_data_is_refused(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        read(path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(
        ValueError, match=r"must be an npz file .* \(it holds something else than numbers and words\)\.$"
    ):
        read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": np.array(["a"]), "X": np.eye(4)}, r"words of shape \(1,\) and X of shape \(4, 4\), but must have"),
        ({"words": np.array(["a", "b"]), "X": np.ones((2, 7))}, "vectors X of 7 dimensions, but must have the 4 of"),
    ],
)
def test_a_vocabulary_fits_the_data(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    data, words = tmp_path / "data.npz", tmp_path / "words.npz"
    np.savez(data, X=np.ones((30, 4)), y=np.ones(30))
    np.savez(words, **arrays)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        read(data, words)
