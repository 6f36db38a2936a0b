"""The parts of an output, by name."""

import numpy as np

from dpverify.audit.inside.parts import bits_of, numbers_of, parts_of


def test_parts_are_named_as_in_python() -> None:
    parts = parts_of({"a": [1, np.array([2.5])], "b": (None, "word"), "c": {3}, "d": np.array(4)})
    assert parts["output['a'][0]"] == 1
    assert parts["output['b'][1]"] == "word"
    assert parts["output['c']"] == "['3']"
    assert parts["the length of output['a']"] == 2
    # Lengths, too, are numbers.
    found = {name: value for name, value in numbers_of(parts).items() if name.startswith("output")}
    assert found == {"output['a'][0]": 1.0, "output['a'][1][0]": 2.5, "output['d']": 4.0}


def test_bits_are_those_of_bytes_and_the_lowest_of_integers() -> None:
    bits = bits_of(parts_of((bytearray(b"\x01\x80"), -3, 0.5, True)))
    assert [name for name, bit in bits.items() if "byte" in name and bit] == [
        "bit 0 of byte 0 of output[0]",
        "bit 7 of byte 1 of output[0]",
    ]
    assert [bits[f"bit {k} of output[1]"] for k in range(3)] == [1, 0, 1]
    assert (bits["the length of output[0]"], bits["output[2]"], bits["output[3]"]) == (2, 0.5, True)


def test_a_long_output_is_cut() -> None:
    assert len(parts_of(list(range(10_000)))) == 4096
