"""What is installed with dpverify, as a CycloneDX 1.5 bill of materials: `python -m benchmarks.sbom > sbom.json`.

It walks the requirements of the installed package, extras left out unless they are named: `... sbom data serve`. Two
runs on one environment give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

from packaging.markers import default_environment
from packaging.requirements import Requirement


def normal(name: str) -> str:
    """Return a name as the index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def bill(root: str, extras: set[str]) -> dict[str, object]:
    """Return the bill of a distribution and of all that it needs here."""
    needed: dict[str, set[str]] = {}
    waiting, found = [(normal(root), extras)], {}
    if unknown := extras - {*(distribution(root).metadata.get_all("Provides-Extra") or ())}:
        raise SystemExit(f"{', '.join(sorted(unknown))} must be extras of {root}.")
    while waiting:
        name, asked = waiting.pop()
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{name} is not installed: the bill would not be whole.") from None
        places = [{**default_environment(), "extra": extra} for extra in ("", *asked)]
        for line in found[name].requires or []:
            other = Requirement(line)
            wanted = other.marker is None or any(map(other.marker.evaluate, places))
            if wanted and normal(other.name) not in needed.setdefault(name, set()):
                needed[name].add(normal(other.name))
                waiting.append((normal(other.name), set(other.extras)))
    reference = {name: f"pkg:pypi/{name}@{one.version}" for name, one in found.items()}

    def component(name: str) -> dict[str, object]:
        made: dict[str, object] = {"type": "library", "bom-ref": reference[name], "name": name}
        made |= {"version": found[name].version, "purl": reference[name]}
        license = found[name].metadata.get("License-Expression")
        return made | ({"licenses": [{"expression": license}]} if license else {})

    depends = [
        {"ref": reference[name], "dependsOn": sorted(reference[x] for x in needed.get(name, ()))}
        for name in sorted(found)
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root)},
        "components": [component(name) for name in sorted(found) if name != root],
        "dependencies": depends,
    }


if __name__ == "__main__":
    print(json.dumps(bill("dpverify", set(sys.argv[1:])), indent=1))
