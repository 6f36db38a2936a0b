"""Blocks of mixes: they cover every mix, and a level is raised where one exceeds it."""

from __future__ import annotations

import itertools

from dpverify.privacy_loss.composing.mix_blocks import few_blocks, level_above


def test_blocks_cover_every_mix_and_are_few() -> None:
    for gap in (1e-1, 1e-4, 1e-9):
        blocks, reached = few_blocks(768, [0.011, 0.013, 0.015], 20.0, gap)
        assert blocks[0][0] == 0
        assert blocks[-1][1] == 768
        assert all(first[1] == second[0] for first, second in itertools.pairwise(blocks))
        assert len(blocks) <= 48
        assert reached >= gap
    assert few_blocks(5, [0.2, 0.2, 0.2], 1.0, 1e-3) == ([(0, 5)], 1e-3)


def test_a_level_is_raised_to_what_some_mix_reaches() -> None:
    # Mix 5 of 0 to 8 reaches 2, and a block with it looks as large as 3 while it is wide.
    def reached(block: tuple[int, int]) -> float:
        low, high = block
        return 0.0 if not low <= 5 <= high else 2.0 if low == high else 3.0

    assert level_above(1.0, [(0, 8)], lambda block, level: reached(block) > level, reached) == 2.0
    assert level_above(2.5, [(0, 4), (4, 8)], lambda block, level: reached(block) > level, reached) == 2.5
    assert level_above(1.0, [(0, 4)], lambda block, level: reached(block) > level, reached) == 1.0
