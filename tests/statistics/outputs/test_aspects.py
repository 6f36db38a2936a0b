"""What there is to look at: each aspect shows the leak that it is for."""

import numpy as np
import pytest

from dpverify.statistics.outputs.aspects import (
    coded_aspects,
    codes_of,
    features,
    lowest_bits,
    numeric_aspects,
    parts_of_noise,
)

RNG = np.random.default_rng(11)
N = 400
COIN = RNG.integers(0, 2, N)
NOISE = RNG.integers(0, 10**6, N).astype(float)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("whole outputs", np.zeros(N), np.full(N, -0.0)),
        ("the sign of column 0", COIN * 0.0, COIN * -0.0),
        ("the lowest bit of column 0", COIN + 0.5, COIN + 0.25),
        ("column 0 mod 2", 2 * NOISE, 2 * NOISE + 1),
        ("column 0 mod 100", 100 * NOISE + 10, 100 * NOISE + 60),
        ("column 0 mod 97", 97 * NOISE + 5, 97 * NOISE + 60),
        ("bit 17 of column 0", NOISE % 2**17 + 2**18 * COIN, NOISE % 2**17 + 2**18 * COIN + 2**17),
        ("the fraction of 1e+06 times column 0", NOISE + 3e-7, NOISE + 8e-7),
        ("the fraction of 1 times column 0", NOISE + 0.3, NOISE + 0.8),
        ("the fraction of 1 times column 0", NOISE, NOISE + 1e-8),
        ("the fraction of 1000 times column 0", NOISE + 0.0003, NOISE + 0.0008),
        ("the parity of columns 0 and 1", np.c_[COIN, COIN], np.c_[COIN, 1 - COIN]),
        ("the signs of columns 0 and 1", np.c_[COIN - 0.5, COIN - 0.5], np.c_[COIN - 0.5, 0.5 - COIN]),
        ("the parity of all columns together", np.c_[COIN, NOISE, COIN + NOISE], np.c_[COIN, NOISE, COIN + NOISE + 1]),
    ],
)
def test_each_aspect_shows_its_leak(name: str, first: np.ndarray, second: np.ndarray) -> None:
    rows = [np.asarray(x, dtype=float).reshape(N, -1) for x in (first, second)]
    aspects = {aspect.name: aspect for aspect in coded_aspects(*rows)}
    name = name if name in aspects else name.replace("0 and 1", "1 and 0")
    found = [set(aspects[name].of(x).tolist()) for x in rows]
    assert not found[0] & found[1]


def test_a_discriminant_adds_up_what_the_columns_show() -> None:
    first, second = RNG.normal(0.3, 1, (5000, 9)) * 1e200, RNG.normal(0, 1, (5000, 9)) * 1e200
    aspects = {aspect.name: aspect for aspect in numeric_aspects(first, second)}
    direction = aspects["a linear discriminant"]
    a, b = direction.of(first), direction.of(second)
    # Each column is 0.3 deviations off, all together three times that.
    assert 0.8 < (a.mean() - b.mean()) / b.std() < 1.0
    assert len(aspects) == 15


def test_columns_that_never_change_are_left_out() -> None:
    rows = np.c_[np.ones(N), NOISE]
    assert [aspect.name for aspect in numeric_aspects(rows, rows)] == ["column 1"]
    assert [aspect.name for aspect in coded_aspects(rows[:, :1], rows[:, :1])] == ["whole outputs"]


def test_codes_and_features() -> None:
    rows = RNG.normal(size=(N, 3))
    assert np.unique(codes_of(rows)).size == N
    np.testing.assert_array_equal(codes_of(rows), codes_of(rows.copy()))
    assert features(rows).shape == (N, 12)


def codes(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """Return how far the frequencies of each aspect's codes are apart, in total variation."""
    apart = {}
    for aspect in coded_aspects(first, second):
        a, b = aspect.of(first), aspect.of(second)
        apart[aspect.name] = sum(abs(np.mean(a == code) - np.mean(b == code)) for code in np.unique(np.r_[a, b])[:300])
    return apart


def test_what_several_columns_show_together() -> None:
    bits = RNG.integers(0, 2, (N, 8)).astype(float)
    hidden = bits.copy()
    hidden[:, 6] = (hidden[:, 1] + hidden[:, 4]) % 2
    assert max(value for name, value in codes(hidden, bits).items() if name.startswith("the parities of")) > 0.9
    noise, ordered = RNG.laplace(size=(N, 4)), RNG.laplace(size=(N, 4))
    ordered[: N // 3] = np.sort(ordered[: N // 3], axis=1)
    assert max(value for name, value in codes(ordered, noise).items() if name.startswith("the order of")) > 0.5


def test_single_bits_of_floats_and_their_parity() -> None:
    drawn = RNG.laplace(size=(2, N)).view(np.int64)
    first, second = (drawn[0] | 256).view(float)[:, None], (drawn[1] & ~256).view(float)[:, None]
    assert codes(first, second)["bit 8 of the float of column 0"] == pytest.approx(2.0)
    odd = np.bitwise_count(drawn.view(np.uint64)) % 2 == np.array([[1], [0]])
    first, second = ((x ^ (1 << 12) * (~flip)).view(float)[:, None] for x, flip in zip(drawn, odd, strict=True))
    assert codes(first, second)["the parity of the bits of the float of column 0"] == pytest.approx(2.0)


def test_noise_that_is_shared_in_part() -> None:
    values = RNG.laplace(size=(N, 1)) + 7.25
    (fraction,) = parts_of_noise(np.c_[np.zeros(N), values])
    np.testing.assert_array_equal(fraction, parts_of_noise(np.c_[np.zeros(N), values - 3.0])[0])
    assert parts_of_noise(np.c_[np.zeros(N), np.rint(values)]) == []


def test_one_column_may_be_the_key_to_another() -> None:
    """The same key, and a word masked by it: exclusive or, a sum modulo 1, a product."""
    key, word = RNG.integers(0, 2**16, N).astype(float), RNG.integers(0, 2**16, N)
    unit = RNG.random(N)
    factor = np.exp(RNG.normal(size=N))
    masked = {
        "bit 5 of the bitwise difference": [
            np.c_[(word & ~32 | 32 * bit) ^ key.astype(int), key].astype(float) for bit in (0, 1)
        ],
        "the fraction of 1 times the difference": [np.c_[(unit + shift) % 1.0, unit] for shift in (0.2, 1.0)],
        "values of the quotient": [np.c_[2.0**bit * factor, factor] for bit in (0, 1)],
    }
    for name, (first, second) in masked.items():
        found = [aspect for aspect in coded_aspects(first, second) if aspect.name.startswith(name)]
        assert found
        assert any(not set(a.of(first).tolist()) & set(a.of(second).tolist()) for a in found)


def test_residues_are_those_of_exact_integers() -> None:
    huge = [2.0**52 + 1, -(2.0**53) + 1, 2.0**53, -1e300, 1e17, -3.0, -0.0, 97.0]
    rows = np.array([huge, huge[::-1]]).T
    kept = [[int(x) if abs(x) < 2**53 else 0 for x in row] for row in rows.tolist()]  # as no float holds others
    codes = {aspect.name: aspect.of(rows).tolist() for aspect in coded_aspects(rows, rows[::-1])}
    for modulus in (2, 3, 7, 1000):
        assert codes[f"column 0 mod {modulus}"] == [first % modulus for first, _ in kept]
    for name in ("the parity of columns 0 and 1", "the parity of all columns together"):
        assert codes[name] == [sum(row) % 2 if abs(sum(row)) < 2**53 else 0 for row in kept]
    full = features(rows)
    used = features(rows, [0, 4])
    assert used[:, [0, 4]].tolist() == full[:, [0, 4]].tolist()
    assert not used[:, [1, 2, 3, 5, 6, 7]].any()


def test_small_regions_of_the_plane_have_codes_of_their_own() -> None:
    middle = RNG.normal(size=(4_000, 2))
    aspects = {aspect.name: aspect for aspect in coded_aspects(middle, middle)}
    for name in ("32 by 32 cells of columns 0 and 1", "the distance and the direction of columns 0 and 1"):
        codes = aspects.get(name, aspects.get(name.replace("0 and 1", "1 and 0")))
        assert np.unique(codes.of(middle)).size > 400


def test_the_place_of_the_lowest_bit_is_a_number() -> None:
    whole, fine = np.arange(8.0), np.array([0.5, 0.25, 3.0, 1e-300, 1.5, 2.0, 0.75, 0.125])
    rows = np.c_[whole, fine]
    (aspect,) = lowest_bits(rows, rows[::-1])
    assert aspect.name == "the lowest bit of column 1"
    assert aspect.of(rows)[[0, 1, 2, 4, 5, 6, 7]].tolist() == [-1, -2, 0, -1, 1, -2, -3]
    assert not aspect.fitted
