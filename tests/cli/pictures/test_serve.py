"""The command `dpverify serve`; what it serves is tested in `tests/serve/`."""

import socket
import sys

import pytest

from dpverify import cli


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["serve", "--no-browser", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    return printed.err


def test_a_port_in_use_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("uvicorn", reason="the page's server is not installed: pip install '.[serve]'")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert refused(capsys, "--port", str(port)) == (
            f"--port={port} must be a free one, but it is in use; 0 takes any that is free.\n"
        )


@pytest.mark.parametrize("missing", ["starlette", "uvicorn", "plotly"])
def test_without_its_libraries_it_names_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "dpverify.serve.app", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    assert refused(capsys) == f"The page needs {missing}: pip install '.[serve]' in the folder of dpverify's source.\n"
