"""A program that fails, hangs or says something else ends an audit with a sentence."""

import sys
from pathlib import Path

import pytest

from dpverify.audit.clients.conformance import audit_client
from dpverify.audit.clients.program import Program
from dpverify.audit.running.target import TargetError
from dpverify.collection.manifest import manifest
from protocols.bitsum import RandomizedResponse
from tests.audit.clients.test_conformance import audited, said


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (said("crash"), "ended with 1: RuntimeError: out of luck"),
        (said("silent"), "but must write a JSON object"),
        ("no_such_program_anywhere", "cannot be run"),
        (" ", "must name the program that starts the client"),
        ("node 'a.js", "must be a command as in a shell: No closing quotation"),
        (f"{sys.executable} -c pass", "wrote 0 lines, but must write"),
    ],
)
def test_a_program_that_fails_is_told_in_a_sentence(command: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="client=") as raised:
        audited(tmp_path, command, [("bits", RandomizedResponse(2_000, 0.25), 10)])
    assert message in str(raised.value)


def test_a_program_that_hangs_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    hash = manifest([("bits", RandomizedResponse(2_000, 0.25), 10)], delta="1e-6").write(path)
    with pytest.raises(TargetError, match=r"took over 0\.5 seconds"):
        audit_client(f"{sys.executable} -c 'import time; time.sleep(9)'", path, hash, timeout=0.5)


@pytest.mark.parametrize(
    "line", ['{"upload": "0g"}', '{"upload": 5}', "{}", '{"upload": "", "refused": ""}', "[]", "[" * 10**5]
)
def test_what_is_no_answer_is_refused(line: str) -> None:
    program = Program("client", Path("plan.json"), "00")
    with pytest.raises(TargetError, match=r"^client='client' wrote '.*', but must write a JSON object with either"):
        program._read(line)
    assert program._read('{"upload": "0a"}') == {"upload": "0a"}
