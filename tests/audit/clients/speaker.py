"""python speaker.py FAULT MANIFEST HASH: the client in Python as a program, with a planted fault or none.

So that tests are alike each time, its entropy is seeded by how often it was started with this manifest.
"""

import importlib.util
import json
import random
import sys
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parents[3] / "dpverify" / "collection" / "client.py"


fault, path, hash = sys.argv[1:]
spec = importlib.util.spec_from_file_location("client", PATH)
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
first = module.Client(Path(path).read_bytes(), hash)
queries = {query["name"]: query for query in json.loads(Path(path).read_bytes())["queries"]}
with Path(f"{path}.starts").open("ab") as starts:
    starts.write(b".")
    rng = random.Random("again and again" if fault == "seeded" else starts.tell())


def drawn(size: int, place: int, last: bytes) -> bytes:
    """Return a user's entropy, as good as the fault lets it be."""
    if fault == "shared" and place % 2:
        return last
    if fault == "short":  # of a word only the first 2 bits vary: what is rarer never occurs
        return b"".join(bytes([rng.randrange(4) << 6]) + bytes(15) for _ in range(size // 16))
    return rng.randbytes(size)


last = b""
for place, text in enumerate(sys.stdin):
    line: dict[str, Any] = json.loads(text)
    if fault == "crash" and place == 3:
        raise RuntimeError("out of luck")
    value, entropy = line["value"], line.get("entropy")
    if entropy is None:
        last = drawn(16 * module.draws(queries[line["query"]]), place, last)
        if fault == "mixed":
            value = value[1:] + value[:1]
    client = first.another({} if fault == "forgets" else line.get("memory"))
    try:
        given = last if entropy is None else bytes.fromhex(entropy)
        reply = {"upload": client.upload(line["query"], value, entropy=given).hex()}
        if fault == "late" and place == 10:  # one bit, once
            reply["upload"] = f"{int(reply['upload'], 16) ^ 128:0{len(reply['upload'])}x}"
        if fault == "longer":
            reply["upload"] += "00"
    except module.Refused as error:
        reply = {"refused": str(error)}
    if "memory" in line:
        reply["memory"] = client.memory
    print(json.dumps(reply) if fault != "silent" else "ok")
