"""The engine needs four packages; whatever else is missing is told in one sentence, with what to install."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from protocols.classes.optional import INSTALLED_BY

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

LEARN = "pip install '.[learn]' in the folder of dpverify's source."

WITHOUT = """
import json, sys
MISSING = {missing}

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
import numpy as np
import dpverify
from protocols import rappor

def told(action):
    try:
        return action()
    except ImportError as error:
        return str(error)
"""


def answers(*expressions: str, missing: set[str] = frozenset(INSTALLED_BY)) -> list[object]:  # type: ignore[assignment]
    """Return what expressions are where packages are missing."""
    lines = ", ".join(f"told(lambda: {expression})" for expression in expressions)
    code = WITHOUT.format(missing=sorted(missing)) + f"print(json.dumps([{lines}]))"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True, timeout=120)
    return list(json.loads(done.stdout))


def test_the_engine_needs_four_packages() -> None:
    outside = {"hypothesis", "ipykernel", "nbclient", "nbformat", "pytest", "sympy"}
    silent = "implementation=lambda bits, rng: float(bits.sum()), trials=200"
    budget, users = '("1", "1e-3")', "users=100, instances=2"
    found = answers(
        f"dpverify.plan('rr', {budget}, {users}).guarantee.epsilon <= 1",
        f"len(dpverify.plan_bitsums({budget}, {users}, bitsums=['rr', '3nb'], methods=['exact']).plans)",
        "dpverify.account(dpverify.RandomizedResponse(100, 0.25), delta=1e-3).epsilon.upper < 0.3",
        "dpverify.account([(dpverify.RandomizedResponse(100, 0.25), 3)], delta=1e-3).epsilon.upper < 1",
        "dpverify.compose('basic', 0.125, 0.0, 16)",
        "dpverify.hockey_stick(dpverify.GaussianPair('2'), '0.3', digits=5).text[:9]",
        "dpverify.amplify(epsilon0=1, users=100, delta='1e-3').epsilon.upper < 1",
        "dpverify.RandomizedResponse(100, 0).run(np.arange(100) < 9, np.random.default_rng(1))",
        f"dpverify.audit_protocol(dpverify.RandomizedResponse(20, 0.25), {silent}).verdict.value",
        "len(dpverify.theorems()) > 100",
        "exec('from dpverify import *')",
        missing=set(INSTALLED_BY) | outside,
    )
    assert found == [True, 2, True, True, [2.0, 0.0], "[0.096353", True, 9.0, "violates", True, None]


def test_what_is_missing_is_one_sentence() -> None:
    row = "dpverify.plan('rr', ('1', '1e-3'), users=100, instances=1)"
    filters = "dpverify.Rappor(bits=32, hashes=2, cohorts=8, f=0.2, p=0.25, q=0.75)"
    words = "[str(word) for word in range(40)]"
    mechanism = "dpverify.audit_mechanism(lambda x, rng: x + rng.laplace(), (1, 0), (0.0, 1.0), trials=1000)"
    assert answers(
        f"str({row})",
        f"{row}.to_dataframe()",
        "dpverify.HighestDensityClassifier",
        f"rappor.decode(rappor.BitCounts.sample({filters}, {{'0': 9}}, np.random.default_rng(1)), {words})",
        "dpverify.PrivacyLedger.create('nowhere.jsonl', ('1', '1e-6'))",
        mechanism,
        "__import__('dpverify.planning.schedules.events')",
    ) == [
        "Showing a result needs rich: pip install rich.",
        "to_dataframe needs pandas: pip install '.[data]' in the folder of dpverify's source.",
        f"A classifier needs sklearn: {LEARN}",
        f"Decoding reports needs sklearn: {LEARN}",
        "What is kept under a lock needs filelock: pip install filelock.",
        f"Learning what tells two inputs apart needs sklearn: {LEARN}",
        "The exchange with dp-accounting needs attr: pip install '.[accounting]' in the folder of dpverify's source.",
    ]
    grid = "dpverify.plan_grid([('1', '1e-3')], users=9, instances=1, bitsums=['rr'])"
    assert answers(f"len(str({grid})) > 99", f"{grid}.plot()", missing={"matplotlib"}) == [
        True,
        "A figure needs matplotlib: pip install '.[plot]' in the folder of dpverify's source.",
    ]


def test_what_an_audit_lacks_is_said_before_it_draws_and_a_coin_needs_nothing() -> None:
    seen = "lambda x, rng: (drawn.append(x), x + rng.laplace())[1]"
    noise = f"dpverify.audit_mechanism({seen}, (1, 0), (0.0, 1.0), trials=20_000)"
    coin = "dpverify.audit_mechanism(lambda x, rng: rng.integers(2), (1, 0), (0.0, 1.0), trials=20_000)"
    asked = ("globals().update(drawn=[])", noise, "len(drawn)", f"{coin}.verdict.value")
    _, sentence, drawn, verdict = answers(*asked)
    assert sentence == f"Learning what tells two inputs apart needs sklearn: {LEARN}"
    assert 0 < drawn < 1_000
    assert verdict == "consistent"


@pytest.mark.parametrize(
    ("missing", "words", "sentence"),
    [
        ("typer", ["--version"], "The command line needs typer: pip install typer."),
        ("sklearn", ["demo"], f"The demonstration needs sklearn: {LEARN.replace('learn', 'learn,plot')}"),
    ],
)
def test_the_command_line_says_it_too(missing: str, words: list[str], sentence: str, tmp_path: Path) -> None:
    start = f"sys.argv[1:] = {words}\nfrom dpverify.__main__ import main\nsys.exit(main())"
    code = WITHOUT.format(missing=[missing]) + start
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (2, f"{sentence}\n")


COMMANDS = """
import contextlib, io, json, os, socket, sys, time
import numpy as np
CHOSEN, FOUND = json.loads(sys.argv.pop()), json.loads(sys.argv.pop())
points, taken = np.random.default_rng(1).normal(size=(60, 3)), socket.socket()
taken.bind(("127.0.0.1", 0))
taken.listen()
np.savez("x.npz", X=points, y=np.arange(60) % 2)
np.save("x.npy", points)
np.savez("w.npz", X=points[:9], words=np.array(list("abcdefghi")))
open("x.parquet", "w").write("PAR1")
open("days.csv", "w").write("protocol,users,flip_probability\\nrr,100,0.1\\n")
open("c.toml", "w").write("users = 9\\nbudgets = [{epsilon = 1, delta = 1e-3}]\\nqueries = [{name = 'a', bits = 2}]")
budget = "--epsilon 1 --delta 1e-3 --bitsum poisson"
commands = f'''
budget --epsilon 2 --delta 1e-6 --instances 8
plan {budget} --users 30,40 --instances 1 --csv p.csv --plot p.png
least users {budget} --instances 1 --error 0.1
front {budget} --users 100 --instances 1
means --epsilon 1 --delta 0 --users 10
design c.toml --manifest c.json
aggregate c.json x.parquet
account poisson --users 300 --instances 2 --mean 99 --delta 1e-6
account days days.csv --delta 1e-3 --curve --plot d.png
amplify --epsilon0 4 --users 10 --delta 1e-3
crowd {budget} --users 10 --instances 1
rappor --epsilon-one 1 --epsilon-limit 2 --users 100 --hashes 2
report r.html {budget} --users 9 --instances 1 --seconds 1e-9 --trials 0
audit poisson --users 2 --mean 2 --trials 100 --plot a.png
certify rr --users 10 --flip-probability 0.3 --epsilon 1
formula
formula randomized-response.rmse --latex
formula randomized-response.rmse n=30000 --solve p --equals 62
theorems
theorems check wagner2025-a2-per-user-shape
reproduce
serve --no-browser --port {taken.getsockname()[1]}
classify x.npz --labels y --output m.npz --bits 8
classify x.parquet --labels y --bits 8
predict m.npz x.npy
decode m.npz w.npz --top 3
demo --output nowhere
spent s.jsonl --new --epsilon 1 --delta 1e-6
spend s.jsonl poisson --users 100 --mean 900 --instances 1
spent s.jsonl
'''.strip().splitlines()

class Watch:
    def __init__(self):
        self.asked = set()

    def find_spec(self, name, path=None, target=None):
        self.asked.add(name.partition(".")[0])

def told_by(command):
    from dpverify.__main__ import main
    sys.argv[1:], err = command.split(), io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        return main(), err.getvalue()

def watched(command):
    # In a child, so that the next command imports again what this one does.
    reading, writing = os.pipe()
    if os.fork() == 0:
        sys.meta_path.insert(0, watch := Watch())
        with os.fdopen(writing, "w") as answer:
            started = time.process_time()
            told = told_by(command)
            json.dump([*told, sorted(watch.asked & set(FOUND)), time.process_time() - started], answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        return json.load(answer)

if CHOSEN is None:
    import scipy.integrate, scipy.optimize, scipy.stats
    from dpverify import account, plan  # what all commands need is imported once
    assert not sys.modules.keys() & set(FOUND)
print(json.dumps({c: watched(c) if CHOSEN is None else told_by(c) for c in commands if CHOSEN is None or c in CHOSEN}))
"""


FOUND_BY_COMMANDS = [
    "duckdb",
    "filelock",
    "jinja2",
    "matplotlib",
    "pandas",
    "pyarrow",
    "rich",
    "sklearn",
    "starlette",
    "sympy",
]


_ASKED = 8


def usual(command: str) -> int:
    """Return the exit status of a command where nothing is missing."""
    return 2 if "parquet" in command else {"audit": 3, "serve": 2, "demo": 2}.get(command.split()[0], 0)


def told(folder: Path, blocked: str, chosen: list[str] | None) -> dict[str, list[Any]]:
    """Return exit status and errors of the chosen commands; of all of them, and what they import, if None is given."""
    words = [sys.executable, "-c", blocked + COMMANDS, json.dumps(FOUND_BY_COMMANDS), json.dumps(chosen)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=environment, check=True, timeout=300)
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="what a command imports is seen in a child process")
def test_no_command_has_a_fault_for_want_of_a_package(tmp_path: Path) -> None:
    whole = tmp_path / "none"
    whole.mkdir()
    all_there = told(whole, "", None)
    for command, (found, said, *_) in all_there.items():
        assert (found, "fault" in said) == (usual(command), False), (command, said)
    for missing in ["typer", *FOUND_BY_COMMANDS]:
        # The others never ask for it.
        asking = [command for command, (*_, asked, _) in all_there.items() if missing in asked or missing == "typer"]
        # Where nearly all do, in the same few places, the quickest say it.
        asking = sorted(asking, key=lambda command: all_there[command][-1])[:_ASKED]
        assert asking, missing
        if missing == "matplotlib":
            assert [command for command in asking if not re.search("^report|plot|^demo", command)] == []
        # Only what a ledger says depends on what it has said before.
        folder = shutil.copytree(whole, tmp_path / missing, ignore=shutil.ignore_patterns("s.jsonl*"))
        needs = re.compile(rf"^[A-Z][^\n]* needs {missing}: pip install [^\n]*\.\n\Z", re.MULTILINE)
        for command, (found, said) in told(folder, WITHOUT.format(missing=[missing]), asking).items():
            # Where one command would have written a file, the next ones miss it, and say so.
            missed = found == 2 and re.search(r"s\.jsonl.* no such file", said, re.IGNORECASE)
            as_usual = found == usual(command) and "fault" not in said
            assert missed or as_usual or needs.search(said), (missing, command, found, said)


def test_what_pip_is_given_is_known_to_the_project() -> None:
    extras = {given[3:-2] for given in INSTALLED_BY.values() if given.startswith("'.[")}
    assert extras <= set(PROJECT["optional-dependencies"])
    plain = {given for given in INSTALLED_BY.values() if not given.startswith("'")}
    assert plain <= {requirement.partition(">=")[0] for requirement in PROJECT["dependencies"]}


SAFE = {
    "pyarrow": "23.0.1",  # CVE-2023-47248 (14.0.1), CVE-2026-25087
    "starlette": "1.3.1",  # CVE-2024-47874, -2025-54121, -2025-62727, -2026-48710, -2026-48818, -2026-54283
    "h11": "0.16",  # CVE-2025-43859
    "jinja2": "3.1.6",  # CVE-2024-56201, CVE-2024-56326, CVE-2025-27516
    "distributed": "2026.1",  # CVE-2026-23528
    "tornado": "6.5.9",  # CVE-2025-67726, CVE-2026-31958, CVE-2026-49855 and what 6.5.9 mends
}
"""The first versions without known holes, where what is installed may be as old as the project allows."""


def test_no_version_with_a_known_hole_is_allowed() -> None:
    extras = [requirement for extra in PROJECT["optional-dependencies"].values() for requirement in extra]
    floors = dict(requirement.split(">=") for requirement in extras if ">=" in requirement)
    for name, safe in SAFE.items():
        assert [*map(int, floors[name].split("."))] >= [*map(int, safe.split("."))], name
