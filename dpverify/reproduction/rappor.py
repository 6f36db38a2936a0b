"""wang_lecture9, Figure 9.2: how many bits of a RAPPOR report are ones, at the parameters that are printed."""

from __future__ import annotations

import numpy as np
import scipy

from dpverify.formulas.contexts import FLOATS
from dpverify.formulas.protocols import rappor
from dpverify.reproduction.experiment import Experiment, Finding, Panel, Reproduction, Row, Setting
from protocols.rappor.response import Rappor

__all__ = ["EXPERIMENTS"]

_NAME, _SOURCE = "wang_lecture9-figure-9.2", "wang_lecture9, Figure 9.2"
_WHAT = "ones in a RAPPOR report of 256 bits with 4 hashes"
_BITS, _HASHES, _F, _Q, _PRINTED = 256, 4, 0.5, 0.75, 145
_VALUE = "68"


def _ones(setting: Setting) -> Reproduction:
    reports = 400 if setting.quick else 4_000
    rows: list[Row] = []
    tails = {}
    for p in (0.25, 0.5):
        setting.progress(f"{reports} reports with p = {p}")
        mechanism = Rappor(bits=_BITS, hashes=_HASHES, f=_F, p=p, q=_Q)
        drawn = mechanism.randomize([_VALUE] * reports, setting.generator(int(100 * p))).bits.sum(axis=-1).ravel()
        zero, one = (float(value) for value in rappor.report_probabilities(FLOATS, _F, p, _Q))
        law = np.convolve(scipy.stats.binom.pmf(np.arange(_HASHES + 1), _HASHES, one),
                          scipy.stats.binom.pmf(np.arange(_BITS - _HASHES + 1), _BITS - _HASHES, zero))  # fmt: skip
        tails[p] = float(min(law[: _PRINTED + 1].sum(), law[_PRINTED:].sum()))
        counts = np.bincount(drawn, minlength=_BITS + 1) / reports
        rows += [
            {"p": p, "ones": ones, "exact": float(law[ones]), "simulated": float(counts[ones])}
            for ones in range(60, 200)
            if law[ones] > 1e-7 or counts[ones] > 0.0
        ]
    findings = (
        Finding(f"a report has {_PRINTED} ones at the printed p = 1/4", tails[0.25] > 1e-3,
                f"{tails[0.25]:.1e} is the probability of so many or more"),
        Finding(f"a report has {_PRINTED} ones at p = 1/2, the value of erlingsson2014", tails[0.5] > 1e-3,
                f"{tails[0.5]:.2f} is the probability of so far off or further"),
    )  # fmt: skip
    panels = (
        Panel("Law of the number of ones", "ones", "exact", "p", rows, "ones in a report", "probability"),
        Panel("Simulated", "ones", "simulated", "p", rows, "ones in a report", "share of reports"),
    )
    notes = ("All but the patterns of one value are fixed by the parameters; no data are used.",)
    return Reproduction(_NAME, _SOURCE, _WHAT, "simulated reports", tuple(rows), findings, panels, notes)


EXPERIMENTS = (Experiment(_NAME, _SOURCE, _WHAT, _ones),)
