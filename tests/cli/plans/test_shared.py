"""What commands that choose share: which options were typed, and whether they fit to a kernel."""

import pytest

from dpverify.cli.plans.shared import bitsums, check_kernel, chosen, given
from dpverify.planning.sweeps.comparison import BITSUMS


def test_what_has_its_usual_value_was_not_typed() -> None:
    assert given(squared_change=None, ball=False, sparsity=1) == {
        "--squared-change": False, "--ball": False, "--sparsity": False,
    }  # fmt: skip
    assert all(given(squared_change="1", ball=True, sparsity=2).values())


def test_all_is_every_name() -> None:
    assert chosen(("rr", "all")) == tuple(BITSUMS) == bitsums()[:-1]
    assert chosen(("rr",)) == ("rr",)
    assert chosen(("all",), ("exact",)) == ("exact",)


def test_what_a_kernel_chooses_must_be_omitted_with_one() -> None:
    with_points, without = {"--dimension": True}, {"--instances": False}
    assert check_kernel("gaussian", alone=with_points, chosen=without)
    assert not check_kernel(None, alone={"--dimension": False}, chosen={"--instances": True})
    for kernel, alone, own, said in (
        ("gaussian", with_points, {"--instances": True}, "--instances must be omitted with --kernel"),
        ("gaussian", {"--dimension": False}, without, "--dimension must be given"),
        (None, with_points, {"--instances": True}, "--dimension must be omitted without --kernel"),
    ):
        with pytest.raises(ValueError, match=said):
            check_kernel(kernel, alone=alone, chosen=own)
