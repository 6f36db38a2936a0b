"""What the site has besides the pages of this folder: notebooks, files of the root, the reference and its menu."""

from __future__ import annotations

import ast
import base64
import functools
import html
import io
import json
import os
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import latex2mathml.converter
import nbformat
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent

COPIED = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "notebooks/README.md": "notebooks/index.md",
    "tests/plugin/coins.py": "coins.md",
}
"""Files that stand elsewhere in the repository, and where the site has them."""

DATA = ("dpverify.cli", "dpverify.evidence", "dpverify.papers", "dpverify.__main__")
"""Left out of the reference: commands have a page of their own, theorems two."""


def notebooks() -> list[Path]:
    """Return the notebooks in order."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def title(text: str) -> str:
    """Return the first heading of a page."""
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]  # type: ignore[index]


class FencedExamples(griffe.Extension):
    """The examples in the text of a module as code: only those under the heading of a section are seen as such."""

    def on_module_instance(self, *, mod: griffe.Module, **_: Any) -> None:
        """Put fences around each block of lines that starts with a prompt and ends with an empty line."""
        if mod.docstring:
            mod.docstring.value = re.sub(r"(?ms)^>>> .*?(?=\n\n|\Z)", r"```pycon\n\g<0>\n```", mod.docstring.value)


class QuickClasses(griffe.Extension):
    """Our `dataclass` as that of the standard library, so that the reference has the arguments of classes."""

    def on_alias_instance(self, *, alias: griffe.Alias, **_: Any) -> None:
        """Name what is imported by where it comes from."""
        if alias.target_path == "protocols.classes.frozen.dataclass":
            alias.target_path = "dataclasses.dataclass"


def typeset(latex: str, display: str = "inline") -> str:
    """Return a formula as MathML, which browsers draw and screen readers read without a script or a font of ours."""
    formula = latex2mathml.converter.convert(latex, display=display)
    formula = re.sub(r"(<mi>(?:ln|log|exp|cos|sin|tanh)</mi>)(?=<m(?!o))", r'\1<mspace width="0.17em"/>', formula)
    if unknown := re.findall(r"\\\w+|(?<=>)&(?=<)", html.unescape(formula)):
        raise PluginError(f"the formula {latex!r} has commands that cannot be typeset: {', '.join(unknown)}")
    return formula


def displayed(source: str, *_: Any, **__: Any) -> str:
    """Return a block of Markdown whose language is math as a formula on a line of its own, which may scroll."""
    return f'<div class="formula" tabindex="0">{typeset(source, "block")}</div>'


class Formulas(Extension):
    """Text between two dollar signs as a formula within its line, as GitHub shows it."""

    class Inline(InlineProcessor):
        """A formula within a line; long ones can scroll by themselves on a narrow screen."""

        def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]
            """Return the formula, and where it stood."""
            formula = typeset(m[1])
            if len(m[1]) > 40:
                formula = f'<span class="formula">{formula}</span>'
            return self.md.htmlStash.store(formula), m.start(0), m.end(0)

    def extendMarkdown(self, md: Markdown) -> None:
        """Look for formulas after code and before all that may stand in one."""
        md.inlinePatterns.register(self.Inline(r"(?<!\\)\$(?!\s)([^$\n]+?)(?<!\s)\$", md), "formula", 185)


def as_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by name: outputs are those that it stores."""
    parts, pictures = [], {}
    for cell in nbformat.read(path, as_version=4).cells:
        source = re.sub(r"^%.*\n", "", cell.source)  # what only a notebook understands
        parts.append(source if cell.cell_type == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![The figure that the code above draws]({name})")
            else:
                parts.append(f"```text\n{(output.get('text') or data['text/plain']).rstrip()}\n```")
    return "\n\n".join(parts) + "\n", pictures


@functools.cache
def errors() -> dict[str, bytes]:
    """Return the figure of the first page by name, for light and for dark screens: `dpverify plan --plot` draws it."""
    import matplotlib

    from dpverify.planning.sweeps.comparison import plan_grid
    from dpverify.report.plans.comparisons import grid_errors
    from dpverify.report.plots import figure_of

    budgets = [(epsilon, "1e-6") for epsilon in ("0.25", "0.5", "1", "2", "4", "8")]
    grid = plan_grid(budgets, users=30_000, instances=768, bitsums=("rr",))
    drawn = {}
    for name, colour, line in (("errors.svg", "#000000", "#0072b2"), ("errors-dark.svg", "#dddddd", "#56b4e9")):
        settings = dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), colour
        )
        with matplotlib.rc_context({**settings, "svg.hashsalt": "dpverify"}), io.StringIO() as file:
            figure, (axes,) = figure_of(5.2, 3.4)
            grid_errors(grid, axes).legend(frameon=False)
            figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
            drawn[name] = file.getvalue().replace("#0072b2", line).encode()
    return drawn


def modules() -> Iterator[str]:
    """Yield the modules whose public names the reference shows."""
    for package in ("dpverify", "protocols"):
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not module.name.startswith(DATA):
                yield module.name


def reference(name: str) -> str:
    """Return where the reference has a module."""
    return f"reference/{name}.md"


def members(name: str) -> list[str]:
    """Return a module's public names in the order of need: as its docstring names them, then functions, then classes.

    What is imported from the other package stands there.
    """
    stem = ROOT / name.replace(".", "/")
    tree = ast.parse((stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")).read_text(encoding="utf-8"))
    public: list[str] = []
    elsewhere: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            public = ast.literal_eval(node.value)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] != name.partition(".")[0]:
            elsewhere |= {alias.asname or alias.name for alias in node.names}
    said = re.findall(r"`(\w+)`", ast.get_docstring(tree) or "")
    defined = [getattr(node, "name", None) for node in tree.body]

    def need(name: str) -> tuple[int, int, int]:
        return (
            said.index(name) if name in said else len(said),
            0 if name.islower() else 1 + name.isupper(),
            defined.index(name) if name in defined else 0,
        )

    return sorted((name for name in public if name not in elsewhere), key=need)


def menu() -> list[Any]:
    """Return the reference's part of the menu, package by package."""
    packages: dict[str, list[Any]] = {"dpverify": [{"dpverify": reference("dpverify")}]}
    for name in modules():
        packages.setdefault(".".join(name.split(".")[:2]), []).append({name: reference(name)})
    return [{package: pages} if len(pages) > 1 else pages[0] for package, pages in packages.items()]


def commands() -> str:
    """Return what `--help` says of every command."""
    import typer.main

    from dpverify.cli import application

    def walk(command: Any, words: str) -> Iterator[str]:
        context = command.context_class(command, info_name=words, terminal_width=88, max_content_width=88)
        yield f"## {words}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
        if hasattr(command, "list_commands"):
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), f"{words} {name}")

    return "# Commands\n\nWhat `--help` says of each.\n\n" + "\n".join(
        walk(typer.main.get_command(application()), "dpverify")
    )


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the parts of the menu that are made from files, and have formulas typeset."""
    config.markdown_extensions.append(Formulas())  # type: ignore[arg-type]
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "formula", "format": displayed}]
    pages = [{title(as_page(path)[0]): f"notebooks/{path.stem}.md"} for path in notebooks()]
    for entry in config.nav or []:
        if "Notebooks" in entry:
            entry["Notebooks"] = ["notebooks/index.md", *pages]
        if "Reference" in entry:
            entry["Reference"][-1]["Modules"] = menu()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and pictures that are not in this folder."""

    def add(where: str, content: str | bytes) -> None:
        files.append(File.generated(config, where, content=content))

    for source, where in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        add(where, f"# {source}\n\n```python\n{text}```\n" if source.endswith(".py") else text)
    for path in notebooks():
        text, pictures = as_page(path)
        add(f"notebooks/{path.stem}.md", text)
        for name, picture in pictures.items():
            add(f"notebooks/{name}", picture)
    for name, picture in errors().items():
        add(name, picture)
    add("reference/commands.md", commands())
    for name in ["dpverify", *modules()]:
        listed = json.dumps({"members": members(name) or False})
        add(reference(name), f"# {name}\n\n::: {name}\n    options: {listed}\n")
    return files


def cited(markdown: str, here: Path) -> str:
    """Return a page that leads to each cite key's work where it first occurs in a text, and to pages that are named."""
    keys = re.findall(r"^\| ([a-z]\w+) \|", (ROOT / "docs/references.md").read_text(encoding="utf-8"), re.MULTILINE)
    wanted = re.compile(rf"(?<![\w/-])(?:docs/\w+\.md(?:#[\w-]+)?|(?:{'|'.join(keys)})(?![\w/-]))")
    docs, seen = os.path.relpath(ROOT / "docs", here), set()

    def linked(match: re.Match[str]) -> str:
        name = match[0]
        if name.startswith("docs/"):
            return f"[{name.partition('#')[0]}]({docs}/{name.removeprefix('docs/')})"
        if name in seen:
            return name
        seen.add(name)
        return f"[{name}]({docs}/references.md#{name})"

    # Blocks of code, headings, comments, code within a line and links stay as they are.
    kept = re.compile(r"(^```.*?^```$|^#.*?$|<!--.*?-->|`[^`\n]+`|\[[^\]\n]*\]\([^)\n]*\))", re.MULTILINE | re.DOTALL)
    parts = kept.split(markdown)
    return "".join(part if index % 2 else wanted.sub(linked, part) for index, part in enumerate(parts))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site, named by their titles."""
    here = page.file.src_uri
    origin = next((source for source, where in COPIED.items() if where == here), f"docs/{here}")
    if here.startswith("notebooks/") and here not in COPIED.values():
        origin = here
    if here == "references.md":
        markdown = re.sub(r"^\| ([a-z]\w+) \|", r"| \1 {: #\1} |", markdown, flags=re.MULTILINE)
    elif not here.startswith("reference/"):
        markdown = cited(markdown, (ROOT / origin).parent)

    def moved(match: re.Match[str]) -> str:
        text, target, anchor = match[1], match[2], match[3] or ""
        if re.match(r"\w+:", target) or not target:
            return match[0]
        file = (ROOT / origin).parent.joinpath(target).resolve()
        if text.endswith(file.name) and file.suffix == ".md":
            text = title(file.read_text(encoding="utf-8"))
        there = file.relative_to(ROOT).as_posix()
        there = COPIED.get(there, re.sub(r"\.ipynb$", ".md", there).removeprefix("docs/"))
        return f"[{text}]({'../' * here.count('/')}{there}{anchor})"

    return re.sub(r"\[([^\]\n]*)\]\(([^)#\s]*)(#[^)\s]*)?\)", moved, markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse a page that loads anything from the network."""
    found = re.search(r"<(?:script|img|link rel=.?(?:stylesheet|preconnect))[^>]*(?:src|href)=.?https?:[^>]*>", output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads something from the network: {found[0]}")
    # The theme's dialog has no name.
    return output.replace('"search" role="dialog"', '"search" role="dialog" aria-label="Search"')
