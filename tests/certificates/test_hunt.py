"""A short hunt for false claims that the checker accepts; `python -m tests.certificates.hunt` runs long ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.certificates.hunt import false_claims, no_certificates, status_of
from tests.certificates.test_checker import accepted


def test_no_false_claim_is_accepted_and_no_file_takes_long(tmp_path: Path, capsys: Any) -> None:
    for claim in false_claims(100, 11):
        assert not accepted(claim), json.dumps(claim)
    for content in no_certificates(50, 12):
        status, seconds = status_of(content, tmp_path / "file.json")
        assert status in (1, 2), content
        assert seconds < 1
        assert capsys.readouterr().out.startswith(("Not a certificate: ", "Refused: "))
