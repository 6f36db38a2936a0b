"""The words of a report are those of the documents."""

from pathlib import Path

from dpverify.report.html.words import GLOSSARY, promises
from tests.dossier.small import small

NOTATION = (Path(__file__).parents[3] / "docs" / "notation.md").read_text(encoding="utf-8")
PLAIN = {"$": "", r"\varepsilon": "ε", r"\delta": "δ", r"\Vert": "‖", "_0": "₀", "^2": "²", "'": "′", " ": ""}
"""How a report, which has no formulas, writes what the notation typesets."""


def plain(text: str) -> str:
    for typeset, symbol in PLAIN.items():
        text = text.replace(typeset, symbol)
    return text


def test_the_glossary_agrees_with_the_notation() -> None:
    symbols = {plain(part) for line in NOTATION.splitlines() if "|" in line for part in line.split("|")[1].split(",")}
    for symbol, names, _ in GLOSSARY:
        assert all(f"{name}`" in NOTATION or f".{name}`" in NOTATION for name in names.split(", ")), names
        assert symbol in {"RMSE"} or all(plain(part) in symbols for part in symbol.split(", ")), symbol


def test_what_is_promised_names_adjacency_adversary_and_side() -> None:
    found = dict(promises(small()))
    assert "replace-one" in found["Adjacency"]
    assert "60" in found["Adjacency"]
    assert "(communication)" in found["Threat model"]
    assert found["Which side"].startswith("A proved upper bound")
    joint = dict(promises(small("0.5")))["Adjacency"]
    assert "0.5" in joint
