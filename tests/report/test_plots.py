from pathlib import Path
from typing import Any, NoReturn

import pytest
from matplotlib.figure import Figure

from dpverify.guarantee import Budget, Interval
from dpverify.report.plots import Curve, check_path, privacy_profile, save


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
    with pytest.raises(ValueError, match="in a folder that exists"):  # a folder that nobody asked for
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


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_the_extension_names_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    for _ in range(2):
        save(privacy_profile([]), tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("figure", "must end in one of .png, .svg, .pdf"),
        ("figure.jpg", "must end in one of .png, .svg, .pdf"),
        ("", "must end in one of"),
        ("nowhere/figure.png", "must be in a folder that exists"),
        ("file/figure.png", "must be in a folder that exists"),
        ("folder.png", "must be a file"),
        ("x" * 300 + ".png", "must be a file that can be written: File name too long"),
    ],
)
def test_a_path_is_checked_before_the_work(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(ValueError, match=r"^plot=.* must ") as caught:
        check_path(tmp_path / name)
    assert said in str(caught.value)
    with pytest.raises(ValueError, match=r"^path="):
        save(privacy_profile([]), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.png"]


def test_what_a_link_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link.png").symlink_to(tmp_path / "elsewhere" / "figure.png")
    save(privacy_profile([]), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink()
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["figure.png"]
