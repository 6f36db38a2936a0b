"""The command `dpverify plan --kernel ...`."""

from __future__ import annotations

import json

import pytest

from dpverify import cli
from dpverify.planning import density
from dpverify.planning.plan import plan

WORDS = ["plan", "--epsilon", "2", "--delta", "1e-4", "--users", "200"]


def test_a_kernel_is_planned(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked, honest = [], None

    def quick(bitsum: str, budget: object, *, users: int, **more: object) -> object:
        asked.append((bitsum, more["max_messages_per_user"]))
        assert more["honest_fraction"] == honest
        return plan("central-gaussian", budget, users=users, instances=1)

    monkeypatch.setattr(density, "plan", quick)
    words = [*WORDS, "--kernel", "gaussian", "--dimension", "3", "--bandwidth", "0.5", "--max-messages", "640"]
    assert cli.main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["kernel"], told["dimension"], told["bandwidth"]) == ("gaussian", 3, 0.5)
    assert [row["bits"] for row in told["rows"]][:2] == [32, 64]
    assert asked[:2] == [("rr", 20.0), ("rr", 10.0)]
    assert cli.main([*words, "--bitsum", "poisson"]) == 0
    assert "gaussian kernel, d = 3, bandwidth 0.5" in capsys.readouterr().out
    assert asked[-1][0] == "poisson"
    honest = "0.5"
    assert cli.main([*words, "--honest-fraction", honest]) == 0
    assert "Planned for 100 honest users." in capsys.readouterr().out
    assert cli.main([*words, "--honest-fraction", "1e-3"]) == 2
    assert capsys.readouterr().err.startswith("--honest-fraction='1e-3' must be at least 1/200")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--kernel", "gaussian"], "--dimension must be given with --kernel."),
        (["--kernel", "gaussian", "--dimension", "3", "--instances", "4"], "--instances must be omitted with --kernel"),
        (["--kernel", "cosine", "--dimension", "3"], "--kernel='cosine' must be one of inner-product, gaussian"),
        (["--dimension", "3", "--instances", "4"], "--dimension must be omitted without --kernel"),
        ([], "one of the options '--instances' and '--kernel' must be given."),
    ],
)
def test_options_that_do_not_fit(more: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*WORDS, *more]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
