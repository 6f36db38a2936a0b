"""Words of classes, from a model and a vocabulary of any size."""

from pathlib import Path

import numpy as np
import pytest

from dpverify.learning.classifier import PrivateDensityClassifier
from dpverify.learning.decoding import decode
from dpverify.learning.files.data import open_data
from protocols.decoding import decode_classes
from tests.learning.points import blobs


@pytest.mark.parametrize("score", ["distinctive", "density"])
def test_a_file_is_read_as_the_array_would_be(tmp_path: Path, score: str) -> None:
    X, y = blobs(900, 3, 5, 0)
    model = PrivateDensityClassifier(epsilon=4, classes=[0, 1, 2], bits=64, random_state=0).fit(X, y)
    vectors = 7.0 * blobs(60, 3, 5, 1)[0]  # scaled to norm 1, as the points were
    words = [f"w{i}" for i in range(60)]
    np.savez(tmp_path / "words.npz", X=vectors, words=np.array(words))
    passes: list[tuple[int, int]] = []
    found = decode(
        model,
        open_data(tmp_path / "words.npz", "words"),
        4,
        score=score,  # type: ignore[arg-type]
        progress=lambda done, rows: passes.append((done, rows)),
    )
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = decode_classes(model.protocol_, (words, unit), 4, score=score)  # type: ignore[arg-type]
    assert {label: [word.word for word in column] for label, column in found.words.items()} == {
        label: [word.word for word in column] for label, column in expected.items()
    }
    assert passes[-1][0] == passes[-1][1] == (120 if score == "distinctive" else 60)
    values = found.to_dict()
    assert values["vocabulary"] == 60
    assert values["guarantee"] == model.guarantee_.to_dict()
    assert [row["rank"] for row in values["words"]] == [1, 2, 3, 4] * 3
    assert "60 words looked at" in str(found)
