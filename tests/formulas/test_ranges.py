"""The ranges of all arguments, and that nothing beyond them is taken."""

import re
from typing import Any

import mpmath

from protocols.validation import read_range
from tests.formulas.test_catalogue import every, usual
from tests.refusals import refused

RANGES = {
    "(0, inf)": "c epsilon epsilon0 flood_shape k queries R shape sharpness slack slope",
    "[0, inf)": "beta bits bitsum_bias error mse ones users optimal-slack.epsilon",
    "[1, inf)": "d instances mechanisms n reports S t",
    "[2, inf)": "vector-sum.n",
    "[1, 10000]": "optimal-slack.mechanisms",
    "(0, 6)": "vector-sum.epsilon",
    "(0, 1)": "alpha delta delta0 delta_slack f tolerance flood_p rappor.p rappor.q user-level.beta tail-shape.beta "
    "message-view-loss.p message-view-loss.q sum-view-loss.p published-p.epsilon0 flip-probability.epsilon0",
    "[0, 1)": "p q gamma composition.delta0 optimal-delta.slack expected-messages-per-user.flood_p",
    "[0, 1]": "fraction_of_ones offset probability value group-privacy.delta report-variance-bound.gamma",
    "(0, 1]": "amplification.delta vector-sum.delta",
    "(0, 1/2]": "rho",
    "(0, 1/2)": "published-shape.beta",
    "[0, 1/2)": "randomized-response.p",
}
"""What is stated of each argument, or of that of a protocol or a formula, where it is another."""


@every
def test_arguments_outside_their_range_are_refused(formula: Any) -> None:
    wanted = {name: interval for interval, names in RANGES.items() for name in names.split()}
    stated = re.findall(r"(\w+) (?:an integer )?in ([(\[][^)\]]+[)\]])", formula.help.rpartition("Range: ")[2])
    protocol, name = formula.name.split(".")
    for argument, interval in stated if "Range: " in formula.help else ():
        assert interval == next(
            wanted[at] for at in (f"{name}.{argument}", f"{protocol}.{argument}", argument) if at in wanted
        )
        for end, is_open, outwards in zip(read_range(interval)[:2], read_range(interval)[2:], (-1, 1), strict=True):
            if end is not None:
                with refused(argument, ValueError):
                    formula(mpmath.mp, {**usual(formula), argument: end + outwards * (not is_open)})
