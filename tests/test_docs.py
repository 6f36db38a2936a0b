"""README, architecture and notation say what is there."""

import importlib
import pkgutil
import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits

import protocols.lsq
from dpverify import plan, theorems
from dpverify.cli import application, main
from protocols.classifier import HighestDensityClassifier

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:24])
    assert blocks(first_screen, "sh")[:2] == [
        "pip install '.[learn,plot]' && dpverify demo\n",
        "pip install '.[test]' && pytest -n auto --dist worksteal\n",
    ]


def test_the_uses_of_the_readme_are_short_and_run(capsys: pytest.CaptureFixture[str]) -> None:
    expected = (
        r"11\.\d users \((0\.9\d+|1), 1e-06\)-DP, upper bound, replace-one, .*\n\[0\.9\d+, (0\.9\d+|1)\]\n",
        r"Violates: .*",
        r"(.*: .*\n){2,}",
        r"0\.[789]\d \(4, 1e-05\)-DP where a user's point is replaced, \(9, 1e-05\)-DP where .*",
    )
    for code, printed in zip(blocks(README, "python"), expected, strict=True):
        # Sixth and seventh lines only import.
        assert len([line for line in code.splitlines() if line and "import" not in line]) <= 5
        exec(compile(code, "README.md", "exec"), {})
        assert re.fullmatch(printed, capsys.readouterr().out, flags=re.DOTALL)


def test_the_shell_lines_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = load_digits(n_class=3, return_X_y=True)
    monkeypatch.chdir(tmp_path)
    np.savez("embeddings.npz", X=X, y=y)
    _, _, *lines = blocks(README, "sh")
    found = {}
    for line in lines:
        # So few runs decide nothing; as many as the line asks for are drawn by docs/auditing.md.
        words = shlex.split(line.replace("--trials 4000", "--trials 200"))
        assert len(line.splitlines()) == 1
        found[words[1]] = main(words[1:])
        assert capsys.readouterr().out
    assert found == {"plan": 0, "audit": 3, "theorems": 0, "classify": 0}
    assert (tmp_path / "model.npz").exists()


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


def test_the_reference_has_first_what_a_reader_needs() -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    members = runpy.run_path(str(ROOT / "docs/site.py"))["members"]
    assert members("dpverify")[:4] == [
        "plan",
        "plan_bitsums",
        "per_instance_budget",
        "account",
    ]  # as its docstring says
    assert members("dpverify.planning.plan") == ["plan", "PlanRow", "EXACT", "METHODS"]
    assert set(members("dpverify.audit.subjects.bitsum")) == set(
        importlib.import_module("dpverify.audit.subjects.bitsum").__all__
    )
    assert "RandomizedResponse" not in members("dpverify")  # it stands under protocols


def formulas(page: str) -> list[str]:
    """Return the formulas of a page, within its lines and on lines of their own."""
    displayed = blocks(re.sub(r"^ +(?=```)", "", page, flags=re.M), "math")
    text = re.sub(r"^ *```.*?^ *```$|`[^`]*`", "", page, flags=re.M | re.S)
    return [*displayed, *re.findall(r"\$([^$\n]+)\$", text)]


def test_every_formula_of_the_pages_is_typeset_without_a_script() -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    site = runpy.run_path(str(ROOT / "docs/site.py"))
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    for name in ("accounting.md", "joint_changes.md", "amplification.md", "notation.md", "one_run.md"):
        assert len(formulas(pages[name])) > 20, name
    for formula in [formula for page in pages.values() for formula in formulas(page)]:
        assert site["typeset"](formula).startswith("<math")
    with pytest.raises(Exception, match=r"cannot be typeset: \\foo"):
        site["typeset"](r"x + \foo")
    with pytest.raises(Exception, match="cannot be typeset: &"):
        site["typeset"](r"a &\le b")


def test_no_formula_breaks_over_the_end_of_a_line() -> None:
    broken = []
    for page in PAGES:
        text = re.sub(r"^ *```.*?^ *```$|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        broken += [(page.name, line) for line in text.splitlines() if "$" in re.sub(r"\$[^$\n]+\$", "", line)]
    assert broken == []


def test_a_formula_is_what_stands_between_two_dollar_signs() -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    markdown = pytest.importorskip("markdown")
    site = runpy.run_path(str(ROOT / "docs/site.py"))
    html = markdown.markdown("Of *$x_1$*, `$HOME$`, $5 and $y, $a_1 < b_1$.", extensions=[site["Formulas"]()])
    assert html.count("<math") == 2
    assert "<em><math" in html
    assert "<code>$HOME$</code>, $5 and $y," in html


def test_prose_stays_within_120_columns() -> None:
    pages = [*PAGES, ROOT / "benchmarks/README.md", ROOT / "notebooks/README.md"]
    wide = [
        (page.name, line)
        for page in pages
        for line in re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S).splitlines()
        if len(line) > 120 and not line.startswith(("|", "#", "![")) and " " in line.strip(" -*")
    ]
    assert wide == []


def test_the_architecture_shows_the_tree_as_it_is() -> None:
    script = runpy.run_path(str(ROOT / "docs/tree.py"))
    text = script["PAGE"].read_text(encoding="utf-8")
    assert script["page"](text) == text, "run python docs/tree.py"
    assert "dpverify/" in text


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


NUMBERS = {14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen"}


def test_the_counts_of_the_readme_are_those_of_today() -> None:
    entries = {int(count) for count in re.findall(r"`theorems` has (\d+) of their claims", README)}
    assert entries == {len(theorems())}
    assert f"[{NUMBERS[len(list((ROOT / 'notebooks').glob('*.ipynb')))]} notebooks]" in README


def test_the_promise_of_the_first_screen_is_kept() -> None:
    rr, rr_exact, three, exact = (
        plan(name, ("2", "1e-6"), users=30_000, instances=768, method=way)
        for name in ("rr", "3nb")
        for way in ("published", "exact")
    )
    assert f"{exact.bitsum_rmse:.0f}" == f"{rr_exact.bitsum_rmse:.0f}"
    assert any("outside the published range" in note for note in rr.notes)
    assert not any("outside the published range" in note for note in three.notes)
    for page in (README, (ROOT / "docs/index.md").read_text(encoding="utf-8")):
        text = " ".join(page.replace("*", "").split())
        assert f"error of {three.bitsum_rmse:.0f} users per sum" in text
        assert f" to {exact.bitsum_rmse:.0f}. So does that of randomized response" in text
        assert f"outside its range, leads to {rr.bitsum_rmse:,.0f}"[:-2] + "00." in text


def test_the_errors_of_the_first_plan_are_those_of_the_readme() -> None:
    rr, rr_exact, three, exact = (
        f"{plan(name, ('1', '1e-6'), users=1_000, instances=8, method=way).bitsum_rmse:.0f}"
        for name in ("rr", "3nb")
        for way in ("published", "exact")
    )
    text = " ".join(README.split())
    assert f"makes sums err by {rr_exact} users." in text
    assert f"outside its range, does by {rr}, more than the guess of 500" in text
    assert f"by {three} where the exact law has {exact}." in text


def test_the_words_for_the_figure_of_the_first_page_are_true() -> None:
    page = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"!\[(Error of a sum .*?)\]\(errors.svg#only-light\)", page)
    said = [int(figure.replace(",", "")) for figure in re.findall(r"(?:from|to) ([\d,]+)", words)]
    for place, method in enumerate(("published", "exact")):
        errors = [
            plan("rr", (epsilon, "1e-6"), users=30_000, instances=768, method=method).bitsum_rmse
            for epsilon in ("0.25", "8")
        ]
        assert said[2 * place : 2 * place + 2] == [round(error) for error in errors]


def test_the_readme_says_what_an_honest_fraction_costs() -> None:
    budget = ("1", "1e-6")
    errors = [plan("3nb", budget, users=1_000, instances=8, honest=share).bitsum_rmse for share in ("0.9", None)]
    (stated,) = re.findall(r"`--honest 0\.9` costs (\d+\.\d) % in error", README)
    assert f"{100 * (errors[0] / errors[1] - 1):.1f}" == stated


def test_what_the_comparison_says_beside_its_tables_is_measured() -> None:
    page = " ".join((ROOT / "docs/comparison.md").read_text(encoding="utf-8").split())
    benchmarks = " ".join((ROOT / "benchmarks/README.md").read_text(encoding="utf-8").split())
    all_of_third, third = re.findall(r"Of (\d+) faults of a blind batch .* ours found (\d+),", page)[0]
    fourth, all_of_fourth = re.findall(r"(\d+) of (\d+) of the next one", page)[0]
    for sentence in (f"{all_of_third} can be found:", f"**{third} were found", f"{all_of_fourth} can be found."):
        assert sentence in benchmarks
    assert f"**{fourth} were found" in benchmarks
    libraries = (ROOT / "docs/audits_of_libraries.md").read_text(encoding="utf-8")
    versions = re.findall(r"((?:OpenDP|diffprivlib|PyDP) \d+\.\d+\.\d+)", page)
    assert len(versions) == 3
    assert all(version in libraries for version in versions)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_nothing_is_said_twice_on_a_page() -> None:
    # Merges have pasted half a page, and entries of one release into others.
    for page in (*PAGES, ROOT / "CHANGELOG.md", ROOT / "benchmarks/README.md"):
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if len(line) > 70 and line[0] != "|"]
        assert {line for line in lines if lines.count(line) > 1} == set(), page


def resolved(name: str) -> object:
    """Return what a dotted name leads to."""
    module, _, attribute = name.rpartition(".")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not attribute or error.name not in (name, module) or not name.startswith(str(error.name)):
            raise
    return getattr(resolved(module), attribute)


def test_the_modules_and_functions_that_a_page_names_are_there() -> None:
    wrong, seen = [], 0
    for page in PAGES:
        for name in re.findall(r"`((?:dpverify|protocols)(?:\.\w+)+)[^`]*`", page.read_text(encoding="utf-8")):
            seen += 1
            try:
                resolved(name.removesuffix(".py"))
            except (AttributeError, ModuleNotFoundError):
                wrong.append(name)
    assert wrong == ["dpverify.verdict"]  # a property in a file of JUnit's
    assert seen > 30


def test_the_commands_and_options_that_a_page_names_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {"tosses"}  # that of the page on protocols of one's own
    for group in ("account", "audit"):  # which list what others than the bitsums register, and make it when it is asked
        assert main([group, "--help"]) == 0
        listed |= set(re.findall(r"^  ([a-z]\S+)  ", capsys.readouterr().out, flags=re.MULTILINE))
    program: Any = typer.main.get_command(application())
    of_a_run = {option for parameter in program.commands["account"].commands["rr"].params for option in parameter.opts}
    wrong, seen = [], 0
    for page in PAGES:
        text = re.sub(r"\\\n\s*", " ", page.read_text(encoding="utf-8"))
        lines = re.findall(r"^(dpverify .*)$", "\n".join(blocks(text, "sh")), flags=re.MULTILINE)
        for line in [*lines, *(" ".join(code.split()) for code in re.findall(r"`(dpverify [^`]+)`", text))]:
            words, command = line.split()[1:], program
            while words and words[0] in getattr(command, "commands", ()):
                command = command.commands[words.pop(0)]
            seen += 1
            if hasattr(command, "commands"):
                there = command.name == "theorems" or not words or words[0] in listed or words[0].startswith("-")
            else:
                known = {"--help", "--and"}.union(*(parameter.opts for parameter in command.params))
                known |= of_a_run if command.name == "spend" else set()
                there = {w.strip("[").split("=")[0] for w in words if w.strip("[").startswith("--")} <= known
            if not there:
                wrong.append((page.name, line))
    assert wrong == []
    assert seen > 50
