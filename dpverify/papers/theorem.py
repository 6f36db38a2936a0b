"""A theorem as data: where it stands, what it needs, what it says, what was found about it, and what backs that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

from dpverify.formulas import Hypothesis
from dpverify.papers.figures import filled, recorded
from dpverify.shown import Plain
from protocols.classes.frozen import dataclass

__all__ = [
    "READING",
    "RULE",
    "Concern",
    "Evidence",
    "Kind",
    "Method",
    "Theorem",
    "Verdict",
    "accounting",
    "enclosure",
    "enumeration",
    "monte_carlo",
    "proof",
    "symbolic",
]


class Kind(StrEnum):
    """What an item of a source is."""

    DEFINITION = "definition"
    THEOREM = "theorem"
    LEMMA = "lemma"
    COROLLARY = "corollary"
    CLAIM = "claim"
    BOUND = "bound"
    PARAMETER = "parameter"
    ALGORITHM = "algorithm"
    NUMBER = "number"


class Verdict(StrEnum):
    """What checking a theorem came to: by `RULE`, the same one for all."""

    HOLDS = "holds"
    CHECKED = "checked, not proved"
    HOLDS_WITH_CONDITION = "holds under a condition"
    PROOF_WRONG = "proof wrong"
    FAILS = "fails"
    CODE_DIFFERS = "code differs"
    OPEN = "open"


READING = (
    "A claim is read as its place prints it, for all values that the document allows there, and no more is read into "
    "it than it says: what only describes is not judged by what another place needs. Words without a number, such as "
    "about, close to, a few, and the constants of O and Theta, mean some constant, which may depend on what the place "
    "does not name."
)
RULE: Mapping[str, str] = {
    Verdict.HOLDS: "true for all these values, and proved; a claim about finitely many numbers is computed exactly",
    Verdict.CHECKED: "true at every one of these values that was computed, with no counterexample known and no proof",
    Verdict.PROOF_WRONG: "a step of a printed proof is false, or is used where what it quotes does not apply; what it "
    "was to prove is not refuted by that",
    Verdict.CODE_DIFFERS: "the authors' program does something else than the text, or is all there is",
    Verdict.HOLDS_WITH_CONDITION: "false, or without a meaning, at some of these values, and proved under a condition "
    "that is not stated and that leaves more than trivial cases: nothing printed need be changed, only added to",
    Verdict.FAILS: "false at some of these values, shown in two ways, and no condition is proved to mend it: what is "
    "printed must be changed",
    Verdict.OPEN: "what is printed does not say enough to decide",
}
"""When an entry has which verdict. `Theorem.unbacked` and a test of the entries enforce what can be."""


class Method(StrEnum):
    """How a piece of evidence was come by."""

    PROOF = "written proof"
    SYMBOLIC = "symbolic"
    ENCLOSURE = "Arb enclosure"
    ENUMERATION = "exact enumeration"
    """Every case of a finite problem, in exact numbers."""
    ACCOUNTING = "exact accounting"
    """Floating point with proved error, or a closed form, at chosen parameters."""
    MONTE_CARLO = "Monte Carlo"
    """Samples, with the error stated."""


class Concern(StrEnum):
    """What someone who trusts the claim as printed would get wrong, from the worst down."""

    PRIVACY = "privacy"
    """A run as printed may be less private than is said, or hardly private."""
    PROOF = "proof of privacy"
    """The privacy is not refuted, or shown here otherwise; what is printed does not show it."""
    ACCURACY = "accuracy"
    COST = "cost"
    TEXT = "text"


PROVING = frozenset({Method.PROOF, Method.SYMBOLIC, Method.ENCLOSURE})
"""What can show that a statement about infinitely many cases holds."""
EXACT = PROVING | {Method.ENUMERATION, Method.ACCOUNTING}


@dataclass(frozen=True)
class Evidence(Plain):
    """One computation, or one written proof, that backs a verdict.

    - method: How.
    - check: `module:function` inside `dpverify.evidence`: it recomputes, returns figures, and raises
      `ContradictedError` if they do not bear out the verdict. For a written proof, its place: `docs/FILE.md#heading` or
      `package.module:name` for a docstring.
    - shows: What it shows, in a clause, with the range that was covered.
    - quick: Whether it takes a second or less, so that it runs in every test.
    """

    method: Method
    check: str
    shows: str
    quick: bool = True

    @property
    def runs(self) -> bool:
        """Whether there is something to run."""
        return self.method is not Method.PROOF


accounting = partial(Evidence, Method.ACCOUNTING)
enclosure = partial(Evidence, Method.ENCLOSURE)
enumeration = partial(Evidence, Method.ENUMERATION)
monte_carlo = partial(Evidence, Method.MONTE_CARLO)
proof = partial(Evidence, Method.PROOF)
symbolic = partial(Evidence, Method.SYMBOLIC)


@dataclass(frozen=True)
class Theorem(Plain):
    """One claim of a source, and what was found about it.

    - name: Unique identifier, for instance `cheu2019-lemma-4.8`.
    - source: Cite key and item, `document, item`; numbers are those of the first version (see `papers.statements`).
    - statement: What it says, in the notation of `docs/notation.md`.
    - verdict: What was found: never more than `checked_by` backs, see `unbacked`.
    - finding: The finding in words: the slack, the missing condition, or the counterexample. A template: `{delta:.2e}`
      stands for the figure `delta` of one of the checks, and is filled from what was last recorded (`papers.figures`).
    - hypotheses: Its conditions, as checkable predicates on its parameters.
    - kind: What the item is.
    - checked_by: What backs the verdict.
    - links: Where to read on: formulas and twins (`dpverify.formulas.protocols.kde:rmse_bound`), protocols
      (`protocols.kde`), tests (`tests/claims/test_x.py::test_y`) and documents (`docs/x.md#heading`). The passages of
      notebooks that walk through it (`notebooks/x.ipynb#heading`) come first.
    - concern: What a reader who trusts the claim as printed would get wrong.
    - repair: What to write, or do, instead; a template too.
    """

    plain_as: ClassVar[str] = (
        "name source kind statement hypotheses=_stated verdict finding repair concern checked_by links"
    )

    name: str
    source: str
    statement: str
    verdict: Verdict
    finding: str
    hypotheses: tuple[Hypothesis, ...] = field(default=(), kw_only=True)
    kind: Kind = field(default=Kind.CLAIM, kw_only=True)
    checked_by: tuple[Evidence, ...] = field(default=(), kw_only=True)
    links: tuple[str, ...] = field(default=(), kw_only=True)
    concern: Concern = field(default=Concern.TEXT, kw_only=True)
    repair: str = field(default="", kw_only=True)
    templates: tuple[str, str] = field(init=False, repr=False)
    """Finding and repair as they were given, with names for figures."""

    def __post_init__(self) -> None:
        """Fill the templates."""
        object.__setattr__(self, "templates", (self.finding, self.repair))
        figures = self.figures()
        for name, template in zip(("finding", "repair"), self.templates, strict=True):
            object.__setattr__(self, name, filled(template, figures))

    @property
    def document(self) -> str:
        """The cite key of the source."""
        return self.source.split(",")[0].split()[0]

    @property
    def item(self) -> str:
        """The item of the source."""
        return self.source.partition(", ")[2]

    @property
    def _stated(self) -> list[str]:
        return [hypothesis.statement for hypothesis in self.hypotheses]

    def figures(self) -> dict[str, Any]:
        """Return the figures that the checks had when they were last recorded, by name."""
        return {name: value for each in self.checked_by if each.runs for name, value in recorded(each.check).items()}

    def unbacked(self) -> str:
        """Return why the evidence is too weak for the verdict, by `RULE`, in a sentence, or nothing if it is not.

        A statement that *holds*, under a condition or not, needs a proof, symbolic or by enclosure or written, or, if
        it is about finitely many numbers (a number, a parameter, a definition), an exact computation; the condition is
        one of its hypotheses, which says that it is not stated. What *fails* needs two exact computations by different
        methods, or a symbolic one, and is no step of a proof. A written proof alone backs nothing: something must run.
        """
        methods = {each.method for each in self.checked_by}
        added = any("not stated" in each.statement for each in self.hypotheses)
        conditional = self.verdict is Verdict.HOLDS_WITH_CONDITION
        if self.verdict is Verdict.OPEN:
            return ""
        if not any(each.runs for each in self.checked_by):
            return "Nothing that backs it can be run."
        finite = self.kind in {Kind.NUMBER, Kind.PARAMETER, Kind.DEFINITION}
        if (self.verdict is Verdict.HOLDS or conditional) and not methods & (EXACT if finite else PROVING):
            return "What holds needs a proof."
        if conditional and not added:
            return "The condition must be one of the hypotheses, and say that it is not stated."
        if self.verdict in {Verdict.HOLDS, Verdict.CHECKED} and added:
            return "What needs a condition that is not stated does not hold as it is printed."
        if self.verdict is Verdict.FAILS and len(methods) < 2:
            return "What fails needs a second, independent method."
        if self.verdict is Verdict.FAILS and "proof" in self.item:
            return "A step of a proof that is false is called so."
        return "" if methods & EXACT else "Samples alone back no verdict."

    def failed_hypotheses(self, **parameters: Any) -> tuple[Hypothesis, ...]:
        """Return the hypotheses that do not hold at these parameters.

        Raises ValueError if a parameter of a hypothesis is missing, or one is given that none has.
        """
        named: Mapping[str, Any] = parameters
        known = {name for hypothesis in self.hypotheses for name in hypothesis.parameters}
        if known != set(named):
            raise ValueError(f"{self.name} is about the parameters {sorted(known)}, not {sorted(named)}.")
        return tuple(each for each in self.hypotheses if not each.holds(*(named[name] for name in each.parameters)))

    def outside(self, **parameters: Any) -> tuple[str, ...]:
        """Return notes on the hypotheses that do not hold at these parameters; see `failed_hypotheses`."""
        failed = self.failed_hypotheses(**parameters)
        return tuple(f"outside the published range, which needs {hypothesis.statement}" for hypothesis in failed)
