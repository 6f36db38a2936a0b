"""What the commands that audit share: a claim is given in full, and Ctrl-C says what was kept."""

from pathlib import Path
from typing import Any

import pytest
import typer

from dpverify.cli.audits.trials import carried_out, claimed
from dpverify.guarantee import Budget


def test_a_claim_has_both_parts() -> None:
    assert claimed("1", "1e-6") == Budget("1", "1e-6")
    assert claimed(None, None) is None
    for half in (("1", None), (None, "0")):
        with pytest.raises(ValueError, match="must be given together, or neither"):
            claimed(*half)


def test_an_interruption_says_what_was_kept(capsys: pytest.CaptureFixture[str]) -> None:
    def audited(**_: Any) -> Any:
        raise KeyboardInterrupt

    for resume, kept in ((None, "nothing was kept"), (Path("draws.npz"), "finished runs are kept in draws.npz")):
        with pytest.raises(typer.Exit) as ended:
            carried_out(audited, resume, None, False)
        assert ended.value.exit_code == 130
        assert capsys.readouterr().err.strip() == f"Interrupted; {kept}."
