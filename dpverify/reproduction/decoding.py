"""wagner2025, Tables 1 and 6 to 8: the words of highest density in each class."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from dpverify.reproduction.accuracy import DELTA, KERNELS, Way, differences, family_of, planned
from dpverify.reproduction.experiment import Experiment, Finding, Reproduction, Row, Setting
from protocols.classifier import HighestDensityClassifier
from protocols.decoding import decode_classes

__all__ = ["EXPERIMENTS"]

_WORDS = 3


def _decoded(epsilon: str, setting: Setting, name: str, source: str, what: str) -> Reproduction:
    data, words = setting.data, setting.data.words
    places = {word: place for place, word in enumerate(words.words)}
    rows: list[Row] = []
    smallest = int(np.bincount(data.train[1]).min() * 0.9)
    for kernel in KERNELS:
        for bitsum in ("rr",) if setting.quick else ("rr", "3nb", "pure"):
            for way in Way:
                setting.progress(f"{kernel} kernel, {bitsum}, {way.value} parameters")
                protocol = planned(bitsum, way, kernel, data.dimension, epsilon, smallest)
                if protocol is None:
                    continue
                family, pairs = family_of(kernel, data.dimension, way)
                model = HighestDensityClassifier(
                    family,
                    instances=pairs,
                    bitsum=protocol.with_users,
                    label_epsilon=5.0,
                    random_state=setting.seed,
                ).fit(*data.train)
                for label, found in decode_classes(
                    model, (words.words, words.vectors), _WORDS, score="density"
                ).items():
                    own = None if words.classes is None else [int(words.classes[places[word.word]]) for word in found]
                    rows.append(
                        {
                            "kernel": kernel,
                            "bitsum": bitsum,
                            "accounting": way.value,
                            "class": str(label),
                            "words": ", ".join(word.word for word in found),
                            "own": None if own is None else sum(one == label for one in own) / len(own),
                        }
                    )
    findings = []
    if words.classes is not None:
        chance = float(np.max(np.bincount(words.classes)) / len(words.classes))
        for way in Way:
            shares = [row["own"] for row in rows if row["accounting"] == way]
            if shares:
                findings.append(
                    Finding(f"the words of highest density are of the class's topic ({way} parameters)",
                            float(np.mean(shares)) > 3.0 * chance,
                            f"{np.mean(shares):.2f} of them are, {chance:.2f} would be by chance")
                )  # fmt: skip
    notes = (
        f"delta = {DELTA}, epsilon {epsilon}, label budget 5; randomized response and others planned for 90 % of the "
        "smallest class.",
        "Words are those of the vocabulary that was given; without one, held-out points stand in for them, named by "
        "their class.",
        differences(data, "DBPedia-14", "AG News", "SST2"),
    )
    return Reproduction(name, source, what, data.name, tuple(rows), tuple(findings), (), notes)


def _made() -> Iterable[Experiment]:
    for number, epsilon in ((1, "3.2"), (6, "5.7"), (7, "4.4"), (8, "3.2")):
        name, source = f"wagner2025-table-{number}", f"wagner2025, Table {number}"
        what = f"private class decoding at epsilon {epsilon}"
        yield Experiment(
            name, source, what, functools.partial(_decoded, epsilon, name=name, source=source, what=what), decodes=True
        )


EXPERIMENTS = tuple(_made())
