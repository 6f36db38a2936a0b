"""The code of the tutorial and of the how-to pages runs as it stands, and prints what the pages say.

The Python of a page runs from top to bottom, in one namespace and an empty folder; functions named `test_...` are
called. A block of text after it is what it prints, `...` for what depends on the last digits. Of the shell blocks the
commands of dpverify run; a line may end in `# exit status 1`.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dpverify import cli

ROOT = Path(__file__).resolve().parent.parent

OURS = """
import numpy as np

def noisy_count(values, rng):
    return float(values.sum() + rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1)))

def noisy_sum(bits, rng):
    reports = bits ^ (rng.random(bits.size) < 0.25)
    return float((reports.sum() - bits.size * 0.25) / 0.5)

def report_label(labels, rng):
    lie = rng.random() < 2 / (2 + np.e)
    return int(labels[0] + lie * rng.integers(1, 3)) % 3
"""

BEFORE = {
    "auditing": f"from pathlib import Path\nPath('ours.py').write_text({OURS!r})",
    "audits_in_ci": f"from pathlib import Path\nPath('ours.py').write_text({OURS!r})",
    "spending": """
from pathlib import Path
daily_users = [41_000] * 365
Path("year.csv").write_text("protocol,users,flip_probability\\n" + "rr,41000,0.1\\n" * 30)
""",
    "private_classifier": """
import numpy as np
import pandas as pd
rng = np.random.default_rng(0)
topics = np.array(["arts", "sports", "travel"])[np.arange(6_600) % 3]
points = np.repeat(np.eye(3), 6, axis=1)[np.arange(6_600) % 3, :16] + 0.7 * rng.normal(size=(6_600, 16))
X, y, X_test, y_test = points[:6_000], topics[:6_000], points[6_000:], topics[6_000:]
pd.DataFrame(X).add_prefix("x").assign(topic=y).to_parquet("points.parquet")
np.save("others.npy", X_test)
""",
}
"""What a page assumes that its reader has."""

PAGES = (
    "tutorial",
    "telemetry",
    "designs",
    "budget_to_chart",
    "collection",
    "pictures",
    "auditing",
    "audits_in_ci",
    "spending",
    "private_classifier",
    "dp_sgd",
    "heavy_hitters",
    "meaning",
    "comparison",
    "sums",
    "real_moves",
)

SLOW = {"budget_to_chart", "private_classifier"}


def blocks(text: str) -> list[tuple[str, str]]:
    """Return language and content of each block of code."""
    return re.findall(r"^```(\w+)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def run_python(code: str, names: dict[str, Any]) -> str:
    """Run a block, call the tests that it defines, and return what was printed."""
    before = set(names)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "page", "exec"), names)
        for name in sorted(names.keys() - before):
            if name.startswith("test_"):
                names[name](lambda key, value: None)
    return printed.getvalue()


def run_shell(code: str) -> str:
    """Run the commands of dpverify in a block, and return what was printed."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for line in code.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["dpverify"]:
                status = re.search(r"# exit status (\d)", line)
                assert cli.main(words[1:]) == int(status[1] if status else 0), line
    return printed.getvalue()


def check(text: str, names: dict[str, Any]) -> int:
    """Run the blocks of a page, and return how many of them ran."""
    ran, printed = 0, None
    for language, content in blocks(text):
        if language == "text" and printed is not None:
            shown = doctest.OutputChecker().check_output(content, printed, doctest.ELLIPSIS)
            assert shown, f"The page says\n{content}\nand it is\n{printed}"
        if language == "toml":
            Path("collection.toml").write_text(content, encoding="utf-8")
        printed = {"python": lambda c: run_python(c, names), "sh": run_shell}.get(language, lambda _: None)(content)
        ran += printed is not None
    return ran


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "The page says"),
        ("```sh\ndpverify theorems no-such-name\n```\n", "no-such-name"),
        ("```python\ndef test_it(record):\n    assert record is None, 'called'\n```\n", "called"),
    ],
)
def test_a_page_that_is_wrong_is_found(page: str, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check(page, {})


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.long] * (page in SLOW)) for page in PAGES])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("dpverify.planning.schedules.result._MOST_POINTS", 3)  # each is an account
    names: dict[str, Any] = {"__name__": "page"}
    exec(BEFORE.get(page, ""), names)
    assert check((ROOT / f"docs/{page}.md").read_text(encoding="utf-8"), names) > 0


def test_the_figures_of_peers_are_those_of_the_benchmarks() -> None:
    """Tables that have figures of benchmarks are quoted row by row."""
    page = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
    measured = {line.strip() for line in (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").splitlines()}
    rows = [line for line in page[page.index("## Accounting") :].splitlines() if line.startswith("|")]
    assert len(rows) > 15
    assert [row for row in rows if row not in measured] == []
