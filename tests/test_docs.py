"""README, architecture and notation say what is there."""

from __future__ import annotations

import importlib
import pkgutil
import re
import runpy
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import protocols.lsq
from dpverify.cli import main
from protocols.classifier import HighestDensityClassifier

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:24])
    assert blocks(first_screen, "sh") == [
        "pip install . && dpverify demo\n",
        "pip install '.[test]' && pytest -n auto\n",
    ]


def test_the_uses_of_the_readme_are_short_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    expected = (
        r"11\.\d users \((0\.9\d+|1), 1e-06\)-DP, upper bound, replace-one, .*\n\[0\.9\d+, (0\.9\d+|1)\]\n",
        r"Violates: .*",
        r"(.*: .*\n){2,}",
        r"0\.[789]\d \(3\.9\d+, 0\.00001\)-DP where a user's point is replaced, \(8\.9\d+, 0\.00001\)-DP where .*",
    )
    for code, printed in zip(blocks(README, "python"), expected, strict=True):
        # Sixth and seventh lines only import.
        assert len([line for line in code.splitlines() if line and "import" not in line]) <= 5
        exec(compile(code, "README.md", "exec"), {})
        assert re.fullmatch(printed, capsys.readouterr().out, flags=re.DOTALL)


def test_the_shell_lines_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = load_digits(return_X_y=True)
    monkeypatch.chdir(tmp_path)
    np.savez("embeddings.npz", X=X, y=y)
    _, _, *lines = blocks(README, "sh")
    found = {}
    for line in lines:
        words = shlex.split(line)
        assert len(line.splitlines()) == 1
        found[words[1]] = main(words[1:])
        assert capsys.readouterr().out
    assert found == {"plan": 0, "audit": 0, "ledger": 0, "classify": 0}
    assert (tmp_path / "model.npz").exists()


def test_the_audit_of_the_documentation_runs_and_finds_the_exchanged_convention(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,) = blocks((ROOT / "docs/auditing.md").read_text(encoding="utf-8"), "python")
    exec(compile(code, "auditing.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Consistent: nothing was found")
    exec(compile(code.replace("1.0 / n, 1 - p", "1.0 / n, p"), "auditing.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Violates: ")


def test_every_link_leads_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    links = [
        (page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    ]
    assert len(links) >= 5
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_page_is_in_the_menu_of_the_site() -> None:
    shown = re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name not in shown) == []


def test_the_site_leads_from_a_cite_key_to_its_work() -> None:
    pytest.importorskip("mkdocs")
    site = runpy.run_path(str(ROOT / "docs/site.py"))
    page = (
        "# By cheu2019\n\nIn `wagner2025-a3`, wagner2025 and wagner2025 (docs/floods.md#all).\n\n```\nghazi2021\n```\n"
    )
    expected = page.replace(", wagner2025", ", [wagner2025](../docs/references.md#wagner2025)")
    expected = expected.replace("(docs/floods.md#all)", "([docs/floods.md](../docs/floods.md#all))")
    assert site["cited"](page, ROOT / "notebooks") == expected
    text, _ = site["as_page"](ROOT / "notebooks/01_quickstart.ipynb")
    assert "```python\nimport" in text
    assert "%matplotlib" not in text


def tree() -> list[str]:
    """Return the paths of the tree in docs/architecture.md, from its indentation."""
    (block,) = blocks((ROOT / "docs/architecture.md").read_text(encoding="utf-8"), "")
    folders: list[str] = []
    paths = []
    for line in block.splitlines():
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        folders[depth:] = [name]
        paths.append("".join(folders))
    return paths


def test_the_architecture_shows_the_tree_as_it_is() -> None:
    shown = tree()
    assert [path for path in shown if not (ROOT / path).exists()] == []
    there = {
        f"{package}/{path.name}{'/' if path.is_dir() else ''}"
        for package in ("protocols", "dpverify")
        for path in (ROOT / package).iterdir()
        if path.name not in {"__init__.py", "__pycache__", "py.typed"}
    }
    assert there - set(shown) == set()


def test_the_notation_names_things_that_exist() -> None:
    text = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    modules = [
        importlib.import_module(module.name)
        for package in ("protocols", "dpverify")
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    ]
    dotted = re.findall(r"`([A-Z]\w+)\.(\w+)", text)
    assert len(dotted) > 10
    for owner, attribute in dotted:
        (cls,) = {vars(module)[owner] for module in modules if owner in vars(module)}
        assert hasattr(cls, attribute) or attribute in cls.__annotations__, f"{owner}.{attribute}"
    assert hasattr(protocols.lsq.LSQFamily, "beta")
    sources = "\n".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules)
    for name in re.findall(r"\| `([a-z]\w+)`", text):
        assert re.search(rf"\b{name}\b", sources), name
    assert {"bitsum", "label_epsilon"} <= set(HighestDensityClassifier().get_params())


def test_every_cite_key_has_an_entry() -> None:
    entries = set(re.findall(r"^\| ([a-z_]+\d{4}) \|", (ROOT / "docs/references.md").read_text(encoding="utf-8"), re.M))
    sources = [path for package in ("protocols", "dpverify") for path in (ROOT / package).rglob("*.py")]
    texts = [path.read_text(encoding="utf-8") for path in [*sources, *(ROOT / "docs").glob("*.md")]]
    cited = {key for text in texts for key in re.findall(r"\b([a-z_]+(?:19|20)\d{2})\b", text)}
    assert len(cited) > 15
    assert cited - entries == set()
