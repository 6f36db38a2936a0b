from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import pytest
from matplotlib.figure import Figure

from dpverify.guarantee import Budget, Interval
from dpverify.report.plots import Curve, privacy_profile, save


def test_a_profile_draws_upper_ends_and_the_budget() -> None:
    curve = Curve("exact", [1e-6, 1e-3], [Interval(1.0, 1.5), Interval(0.5, 0.75)])
    (axis,) = privacy_profile([curve, Curve("claim", [1e-6], [2.0])], budget=Budget(2, "1e-6")).axes
    assert [line.get_xydata().tolist() for line in axis.lines] == [
        [[1e-6, 1.5], [1e-3, 0.75]],
        [[1e-6, 2.0]],
        [[1e-6, 2.0]],
    ]
    # Only points within the bands of the intervals are shaded.
    assert axis.collections[0].get_paths()[0].contains_point((1e-6 + 1e-9, 1.2))
    assert not axis.collections[0].get_paths()[0].contains_point((1e-6 + 1e-9, 0.9))
    # Told apart without colour.
    assert len({line.get_marker() for line in axis.lines}) == 3


def test_more_curves_than_styles_are_refused() -> None:
    with pytest.raises(ValueError, match="holds 5 curves, but at most 4"):
        privacy_profile([Curve("", [], [])] * 5)


def test_a_figure_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "folder" / "figure.png"
    with pytest.raises(FileNotFoundError):  # a folder that nobody asked for
        save(privacy_profile([]), path)
    path.parent.mkdir()
    save(privacy_profile([Curve("one", [0.1], [1.0])]), path)
    before = path.read_bytes()
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode

    def fail(self: Figure, name: str, **options: Any) -> NoReturn:
        Path(name).write_bytes(before[:10])
        raise OSError("disk full")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save(privacy_profile([]), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
