"""Density estimation from many users: streaming against the straightforward dense numpy version.

Each version runs in its own process, on the same points; time and peak memory (of the whole process, interpreter
included) are printed. The dense one holds all points, features and uniform numbers at once: `--dense-users` sets how
many users it gets, if the machine has too little memory for all.

    python benchmarks/kde_streaming.py --users 100000 --dimension 768 --instances 768
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

from protocols.bitsum import RandomizedResponse
from protocols.kde import KernelDensityProtocol
from protocols.lsq import GaussianFeatures

BLOCK = 1000
FLIP = 0.1


def blocks(users: int, dimension: int) -> Iterator[np.ndarray]:
    """Unit vectors in single precision, as they would be read from disk."""
    rng = np.random.default_rng(1)
    for start in range(0, users, BLOCK):
        block = rng.standard_normal((min(BLOCK, users - start), dimension), dtype=np.float32)
        yield block / np.linalg.norm(block, axis=1, keepdims=True)


def streaming(users: int, dimension: int, instances: int) -> np.ndarray:
    features = GaussianFeatures(dimension).sample(instances, np.random.default_rng(2))
    protocol = KernelDensityProtocol(RandomizedResponse(users, FLIP), features)
    return protocol.simulate(blocks(users, dimension), np.random.default_rng(3)).published


def dense(users: int, dimension: int, instances: int) -> np.ndarray:
    points = np.concatenate(list(blocks(users, dimension))).astype(np.float64)
    rng = np.random.default_rng(2)
    frequencies = rng.standard_normal((instances, dimension)) * math.sqrt(2)
    offsets = rng.uniform(0, 2 * math.pi, instances)
    features = np.cos(points @ frequencies.T + offsets)
    bits = rng.random((users, instances)) < (1 + features) / 2
    reports = bits ^ (rng.random((users, instances)) < FLIP)
    sums = (reports.sum(axis=0) - users * FLIP) / (1 - 2 * FLIP)
    return (2 * sums - users) * math.sqrt(2)


def measure(version: str, users: int, dimension: int, instances: int) -> None:
    started = time.perf_counter()
    published = {"streaming": streaming, "dense": dense}[version](users, dimension, instances)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    row = {"version": version, "users": users, "seconds": seconds, "peak_bytes": peak, "mean": float(published.mean())}
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--dense-users", type=int, help="default: as many")
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--instances", type=int, default=768)
    parser.add_argument("--version", choices=["streaming", "dense"], help="run one version in this process")
    arguments = parser.parse_args()
    sizes = arguments.dimension, arguments.instances
    if arguments.version:
        measure(arguments.version, arguments.users, *sizes)
        return
    for version, users in (("streaming", arguments.users), ("dense", arguments.dense_users or arguments.users)):
        command = [sys.executable, __file__, "--version", version, "--users", str(users)]
        command += ["--dimension", str(sizes[0]), "--instances", str(sizes[1])]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{version:>9}: {users} users, d = {sizes[0]}, I = {sizes[1]}: {row['seconds']:.1f} s, "
            f"{row['seconds'] / users * 1e6:.0f} us per user, peak memory {row['peak_bytes'] / 2**20:.0f} MiB"
        )


if __name__ == "__main__":
    main()
