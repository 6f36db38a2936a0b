"""The lines for the shell and for Python that give the page's numbers."""

from __future__ import annotations

import json
import shlex

from dpverify.serve.state import State

__all__ = ["python_lines", "shell_lines"]


def shell_lines(state: State) -> str:
    """Return the commands that print the page's plans, and epsilon against the honest share."""
    budget = ["--epsilon", state.epsilon, "--delta", state.delta, "--users", str(state.users)]
    common = [*budget, "--instances", str(state.instances), "--bitsum", state.bitsum]
    if not state.everybody:
        common += ["--honest", state.honest]
    lines = [["dpverify", "plan", *common]]
    if state.squared_change is not None:
        lines.append([*lines[0], "--method", "exact", "--squared-change", state.squared_change])
    lines.append(["dpverify", "crowd", *common])
    return "\n".join(map(shlex.join, lines))


def python_lines(state: State) -> str:
    """Return a program that prints the error and the enclosed epsilon of the plan of the page, the joint one if any."""
    joint = "" if state.squared_change is None else f", squared_change={json.dumps(state.squared_change)}"
    share = "" if state.everybody else f", honest={json.dumps(state.honest)}"
    honest = "" if state.everybody else ", honest=row.honest"
    epsilon, delta = json.dumps(state.epsilon), json.dumps(state.delta)
    given = f"users={state.users}, instances={state.instances}{joint}"
    return "\n".join(
        [
            "import dpverify",
            "",
            f"row = dpverify.plan({json.dumps(state.bitsum)}, ({epsilon}, {delta}), {given}{share})",
            'print(row.bitsum_rmse, "users")',
            f"found = dpverify.account(row.protocol, instances={state.instances}{joint}, delta={delta}{honest})",
            "print(found.epsilon)",
        ]
    )
