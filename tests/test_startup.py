"""What starting the command line costs: wall time is not stable, the packages that are imported are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dpverify import cli
from dpverify.__main__ import spare_threads
from dpverify.claims.registry import _others_declare
from protocols.classes.optional import INSTALLED_BY

ROOT = Path(__file__).resolve().parent.parent

SLOW = {"matplotlib", "sklearn", "scipy.optimize", "scipy.signal", "scipy.stats", "scipy.spatial", "sympy"}
"""Packages that take a quarter of a second or more, and that no plan needs."""
TRANSFORMS = {"scipy.fft", "scipy.special", "scipy.linalg"}
EVERYTHING = SLOW | TRANSFORMS | {"numpy", "scipy", "mpmath", "flint", "rich", "pydantic"}

PLAN = ["plan", "--epsilon", "1", "--delta", "1e-3", "--users", "20", "--instances", "2"]


def imported(code: str, *words: str) -> set[str]:
    """Return the modules that a new interpreter has imported after running some code."""
    code = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT, check=True, timeout=120
    )
    return set(done.stderr.split())


def after(*words: str) -> set[str]:
    """Return the modules that the command line has imported."""
    return imported("from dpverify.cli import main\nassert main(sys.argv[1:]) == 0", *words)


def test_the_modules_of_a_run_are_seen() -> None:
    # Without this, a broken reader would let every test below pass.
    assert "scipy.optimize" in imported("import scipy.optimize")


def test_importing_the_package_imports_nothing_else() -> None:
    assert not imported("import dpverify") & EVERYTHING


@pytest.mark.long
@pytest.mark.parametrize("words", [["--help"], ["account", "--help"], ["plan", "--help"], ["--version"]], ids=" ".join)
def test_help_needs_no_package_but_its_own(words: list[str]) -> None:
    assert not after(*words) & EVERYTHING


@pytest.mark.parametrize(("words", "status"), [([], 0), (["--help"], 0), (["--version"], 0), (["plna"], 2)])
def test_what_runs_no_command_imports_none(words: list[str], status: int) -> None:
    modules = imported(f"from dpverify.cli import main\nassert main(sys.argv[1:]) == {status}", *words)
    assert not {name for name in modules if name.startswith(("dpverify.cli.plans", "dpverify.claims"))}
    assert "dpverify.guarantee" not in modules


@pytest.mark.parametrize("words", [[], ["--", "plan"]], ids=["completion", "dashes"])
def test_where_a_command_may_still_come_it_is_the_real_one(words: list[str]) -> None:
    environment = os.environ | (
        {}
        if words
        else {"_DPVERIFY_COMPLETE": "complete_bash", "COMP_WORDS": "dpverify plan --epsi", "COMP_CWORD": "2"}
    )
    told = subprocess.run(
        [sys.executable, "-m", "dpverify", *words], capture_output=True, text=True, env=environment, cwd=ROOT
    )
    assert "--epsilon" in told.stdout + told.stderr


def test_a_mistyped_option_is_told_before_anything_is_imported() -> None:
    code = "from dpverify.cli import main\nassert main(sys.argv[1:]) == 2"
    assert not imported(code, "plan", "--users", "0") & (EVERYTHING - {"rich"})


def test_the_options_of_a_protocol_are_those_of_its_class_and_need_no_scipy() -> None:
    modules = after("account", "rr", "--help")
    assert "dpverify.claims.bitsum.randomized_response" in modules
    assert not modules & (SLOW | TRANSFORMS | {"scipy"})
    assert not {"dpverify.claims.bitsum.three_nb", "dpverify.audit.protocol"} & modules


def test_listing_theorems_needs_theorems_only() -> None:
    modules = after("theorems")
    assert "dpverify.papers.entries" in modules
    assert not modules & (EVERYTHING - {"rich", "pydantic"})
    engines = ("dpverify.privacy_loss", "dpverify.laws", "dpverify.planning", "dpverify.claims.bitsum.")
    assert not [module for module in modules if module.startswith(engines)]


def test_a_command_imports_no_other_and_says_which_it_has() -> None:
    modules = after("theorems", "show", "3nb")
    assert {name for name in modules if name.startswith("dpverify.cli.")} <= {
        f"dpverify.cli.{name}"
        for name in (
            "formats",
            "groups",
            "messages",
            "options",
            "output",
            "papers",
            "papers.theorems",
            "protocol_names",
        )
    }


def test_each_command_is_known_by_the_module_that_has_it() -> None:
    modules = set(cli._COMMANDS.values())
    listed = {
        module: set(typer.main.get_command(cli.application(command)).commands)  # type: ignore[attr-defined]
        for command, module in cli._COMMANDS.items()
    }
    assert set(listed) == modules
    for module, found in listed.items():
        assert found == {command for command, own in cli._COMMANDS.items() if own == module}


@pytest.mark.long
@pytest.mark.parametrize("bitsum", ["3nb", "central-gaussian"])
def test_a_plan_needs_no_scipy(bitsum: str) -> None:
    # Nor what typer reads options with, nor what reads other packages' entry points: a quarter of a second together.
    spared = {"scipy", "pydantic"} | (set() if _others_declare() else {"importlib.metadata"})
    assert not after(*PLAN, "--bitsum", bitsum) & (SLOW | TRANSFORMS | spared)


def test_amplification_needs_no_scipy() -> None:
    words = ["amplify", "--epsilon0", "1", "--users", "100", "--delta", "1e-3"]
    modules = after(*words)
    assert not modules & (SLOW | TRANSFORMS | {"scipy"})
    # One round is not composed: that half of the engine stays away.
    assert "dpverify.privacy_loss.shuffling.excess" in modules
    assert not modules & {"dpverify.privacy_loss.composing.family", "dpverify.privacy_loss.windows.transform"}


def test_all_names_at_once_need_what_the_engine_needs() -> None:
    # `from dpverify import *`, at a prompt: none of scipy's parts, and nothing that an installation may lack.
    modules = imported("from dpverify import *\nassert PrivacyLedger and plan")
    assert {"dpverify.audit.protocol", "dpverify.planning.plan", "protocols.rappor.response"} <= modules
    # Nor what is read of other packages once protocols are looked up, which takes as long as forty modules of ours.
    unwanted = {"scipy.sparse", "pydantic", "importlib.metadata", "numpy.ma"}
    assert not modules & (SLOW | TRANSFORMS | set(INSTALLED_BY) | unwanted)


def test_every_name_of_the_engine_is_found_at_its_first_use() -> None:
    code = "import dpverify.privacy_loss as engine\nfor name in engine.__all__: getattr(engine, name)"
    assert "dpverify.privacy_loss.composing.family" in imported(code)
    assert not imported("import dpverify.privacy_loss") & EVERYTHING


def test_the_library_needs_nothing_slow_to_plan_and_account() -> None:
    assert (
        not imported(
            "import dpverify.planning.plan, dpverify.planning.sweeps.comparison\nimport protocols.kde, protocols.bitsum"
        )
        & SLOW
    )


@pytest.mark.parametrize(
    ("words", "environment", "left"),
    [
        (["plan", "--users", "9"], {}, {"OPENBLAS_NUM_THREADS": "1"}),
        (["plan"], {"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "2"}),
        (["plan"], {"OPENBLAS_NUM_THREADS": "4"}, {"OPENBLAS_NUM_THREADS": "4"}),
        (["classify"], {}, {}),
        (["audit"], {}, {}),
        ([], {}, {}),
    ],
)
def test_a_command_uses_one_thread_unless_it_is_told(
    words: list[str], environment: dict[str, str], left: dict[str, str]
) -> None:
    spare_threads(words, environment)
    assert environment == left


def test_only_a_command_touches_the_threads_of_its_process() -> None:
    code = "import os, dpverify.__main__, dpverify.cli; print('OPENBLAS_NUM_THREADS' in os.environ)"
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT, check=True
    )
    assert told.stdout == "False\n"


def test_an_interruption_while_it_starts_is_one_word() -> None:
    code = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from dpverify.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")
