"""Are the words that a class is decoded to its own? Reciprocal ranks over dbpedia's 14 classes, by score and noise.

    python -m benchmarks.decoding EMBEDDINGS.npz VOCABULARY.npz

EMBEDDINGS holds unit vectors `X`, labels `y` and `label_names` of DBpedia-14, VOCABULARY `words` with vectors `X`. A
class's own words were written down before anything was ranked: its name and words for what it holds. Per class, the
reciprocal of the best rank that one of its own words has in the whole vocabulary, and the share of pairs of an own word
and another class's word of which the own stands first. Each figure is a mean over classes and `--repeats` draws of the
private noise, with the standard deviation over draws. Labels are published at 5, delta is 1e-6, and randomized response
runs with parameters that hold for the smallest class, charged for joint changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpverify.reproduction.accuracy import KERNELS, Way, family_of, planned
from dpverify.reproduction.embeddings import read, read_words
from protocols.classifier import HighestDensityClassifier
from protocols.decoding import SCORES, Score, decode_classes

OWN = {
    "Company": "company companies corporation firm",
    "EducationalInstitution": "school university college education schools",
    "Artist": "artist musician painter singer writer",
    "Athlete": "athlete footballer player sportsman",
    "OfficeHolder": "politician senator congressman minister governor",
    "MeanOfTransportation": "ship aircraft vehicle locomotive submarine car",
    "Building": "building church house buildings museum",
    "NaturalPlace": "river mountain lake peak",
    "Village": "village villages town",
    "Animal": "animal species insect moth beetle snail",
    "Plant": "plant plants flora flowering",
    "Album": "album albums",
    "Film": "film films movie",
    "WrittenWork": "novel book magazine newspaper journal",
}
EPSILONS = (None, "2", "1", "0.5")


def ranked(ranks: NDArray[np.int64], own: list[NDArray[np.int64]]) -> tuple[float, float]:
    """Return the mean reciprocal rank, and the share of pairs in order, of ranks of shape (classes, words)."""
    reciprocal, ordered = [], []
    for label, words in enumerate(own):
        others = np.concatenate(own[:label] + own[label + 1 :])
        reciprocal.append(1.0 / ranks[label, words].min())
        ordered.append(np.mean(ranks[label, words][:, np.newaxis] < ranks[label, others]))
    return float(np.mean(reciprocal)), float(np.mean(ordered))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("embeddings", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    data, words = read(arguments.embeddings), read_words(arguments.vocabulary)
    names = np.load(arguments.embeddings, allow_pickle=False)["label_names"].tolist()
    place = {word: index for index, word in enumerate(words.words)}
    own = [np.array([place[word] for word in OWN[name].split() if word in place]) for name in names]
    smallest = int(np.bincount(data.train[1]).min() * 0.9)
    print(f"{len(data.train[0])} users, planned for classes of {smallest}; {len(words.words)} words")
    for kernel in KERNELS:
        family, pairs = family_of(kernel, data.dimension, Way.JOINT)
        for epsilon in EPSILONS:
            protocol = epsilon and planned("rr", Way.JOINT, kernel, data.dimension, epsilon, smallest)
            found: dict[Score, list[tuple[float, float]]] = {score: [] for score in SCORES}
            for seed in range(arguments.repeats if protocol else 1):
                model = HighestDensityClassifier(
                    family,
                    instances=pairs,
                    bitsum=protocol.with_users if protocol else None,
                    label_epsilon=5.0 if protocol else None,
                    random_state=seed,
                ).fit(*data.train)
                for score in SCORES:
                    vocabulary = (words.words, words.vectors)
                    decoded = decode_classes(model, vocabulary, len(words.words), score=score).values()
                    ranks = np.array([np.argsort([word.position for word in column]) + 1 for column in decoded])
                    found[score].append(ranked(ranks, own))
            for score, runs in found.items():
                (rank, pair), (by, _) = np.mean(runs, axis=0), np.std(runs, axis=0)
                print(
                    f"{kernel:9} epsilon {epsilon or 'inf':4} {score:12} rank {rank:.3f} +- {by:.3f}, pairs {pair:.3f}"
                )


if __name__ == "__main__":
    main()
