"""What a classifier has learned from a file, and the words of its classes, as terminal tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from dpverify.digits import counted
from dpverify.report.layout import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpverify.learning.decoding import Decoded
    from dpverify.learning.evaluate import Learned, LearnedJointly

__all__ = ["decoded_scores", "decoded_table", "joint_shares", "joint_table", "learned_noise", "learned_table"]

_MOST_CLASSES = 20


def _line(label: object) -> str:
    """Return a label or a word on one line, what cannot be printed as escapes."""
    text = str(label)
    return text if text.isprintable() else repr(text)[1:-1]


def learned_noise(learned: Learned, axes: Axes | None = None) -> Axes:
    """Draw the noise of every class's density, as far as the table goes."""
    from dpverify.report.charts import bars_on

    made: Any = learned.classifier
    names, noise = [str(label) for label in made.classes_.tolist()], made.noise_.tolist()
    title = f"{counted(learned.users, 'user')}, {counted(len(names), 'class', 'classes')}"
    return bars_on(axes, names[:_MOST_CLASSES], noise[:_MOST_CLASSES], x="noise of a class's density", title=title)


def learned_table(learned: Learned) -> RenderableType:
    """Return the guarantee, the accuracy, and one row per class."""
    made: Any = learned.classifier
    kernel = made.kernel if made.bandwidth_ is None else f"{made.kernel} kernel, bandwidth {made.bandwidth_:.3g}"
    counts = f"{counted(learned.users, 'user')}, {counted(len(made.classes_), 'class', 'classes')}"
    title = f"{counts}, d = {made.n_features_in_:,}, {kernel}"
    table = Rows(("class", "reported by", "noise"), ("reported by", "noise"))
    rows = list(zip(made.classes_.tolist(), made.reported_counts_.tolist(), made.noise_.tolist(), strict=True))
    for label, users, noise in rows[:_MOST_CLASSES]:
        table.add_row(_line(label), f"{users:,}", f"{noise:.2g}")
    lines = [f"and {len(rows) - _MOST_CLASSES:,} more classes"] if len(rows) > _MOST_CLASSES else []
    lines.append(
        "noise: standard deviation of a class's density, at a query of norm 1; the kernel is at most 1. reported by: "
        "how many users published this label."
    )
    return Group(Text(title, style="bold"), table, *map(Text, [*lines, *_ends(learned)]))


def _ends(learned: Learned) -> list[str]:
    """Return what is said of the accuracy, and of the guarantee."""
    lines, interval = list[str](), learned.accuracy_interval
    if interval is not None:
        lines.append(
            f"Accuracy: {learned.accuracy:.3f} on {learned.tested:,} rows that took no part "
            f"([{math.floor(1e3 * interval.lower) / 1e3:.3f}, {math.ceil(1e3 * interval.upper) / 1e3:.3f}] with "
            "confidence .95); it is not private towards these."
        )
    return [*lines, f"Privacy: {learned.classifier.guarantee_}."]


def joint_shares(learned: LearnedJointly, axes: Axes | None = None) -> Axes:
    """Draw the published share of every class, as far as the table goes."""
    from dpverify.report.charts import bars_on

    rows = learned._classes[:_MOST_CLASSES]
    names, shares = [str(row["label"]) for row in rows], [row["share"] for row in rows]
    title = f"{counted(learned.users, 'user')}, {counted(len(learned._classes), 'class', 'classes')}"
    return bars_on(axes, names, shares, x="share of the users, with noise", title=title)


def joint_table(learned: LearnedJointly) -> RenderableType:
    """Return the guarantee, the accuracy, what users send, and one row per class."""
    made: Any = learned.classifier
    rows = learned._classes
    counts = f"{counted(learned.users, 'user')}, {counted(len(rows), 'class', 'classes')}"
    what = "means and second moments" if made.map_.second else "class means"
    table = Rows(("class", "share", "predicted"), ("share",))
    for row in rows[:_MOST_CLASSES]:
        table.add_row(_line(row["label"]), f"{row['share']:.3f}", "yes" if row["predicted"] else "no")
    lines = [f"and {len(rows) - _MOST_CLASSES:,} more classes"] if len(rows) > _MOST_CLASSES else []
    lines.append(
        "share: of the users, with noise; a class with no more users than noise has is not predicted. noise: standard "
        f"deviation of a coordinate of share times mean, {made.noise_:.2g}; points have norm 1 at most."
    )
    lines.append(
        f"Each user sends about {made.plan_.messages_per_user:,.0f} messages, {made.plan_.bytes_per_user:,.0f} bytes."
    )
    title = f"{counts}, d = {made.n_features_in_:,}, {what}"
    return Group(Text(title, style="bold"), table, *map(Text, [*lines, *_ends(learned)]))


def decoded_table(decoded: Decoded) -> RenderableType:
    """Return one row per class with its words, best first."""
    table = Rows(("class", "words, best first"))
    for label, words in decoded.words.items():
        table.add_row(_line(label), ", ".join(_line(word.word) for word in words))
    meaning = {
        "distinctive": "distinctive: what tells a class from the others, seen from the vocabulary's mean",
        "density": "density: at the word's vector, as in wagner2025",
    }
    lines = [
        f"Ranked by {meaning[decoded.score]}.",
        f"Privacy: {decoded.classifier.guarantee_}; the words add nothing to it.",
    ]
    return Group(Text(f"{counted(decoded.vocabulary, 'word')} looked at", style="bold"), table, *map(Text, lines))


def decoded_scores(decoded: Decoded, axes: Axes | None = None) -> Axes:
    """Draw the scores of every class's words, as far as the table goes."""
    from dpverify.report.charts import bars_on

    found = [(f"{label}: {word.word}", word.score) for label, words in decoded.words.items() for word in words]
    names, scores = [name for name, _ in found[:_MOST_CLASSES]], [score for _, score in found[:_MOST_CLASSES]]
    return bars_on(axes, names, scores, x=f"score ({decoded.score})", title=f"{decoded.vocabulary:,} words looked at")
