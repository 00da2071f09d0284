# SPDX-License-Identifier: Apache-2.0
"""Write docs/clients.md: what public clients of CANN need, and what is missing here.

Without arguments the page is written from docs/data/clients.json, and with ``--check`` it is compared.
``--add OWNER/NAME COMMIT CHECKOUT`` reads a checkout by client_needs.py and puts its needs into the data first; the
text about an attempt to build the client (``tried``), which is written by hand, stays.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from client_needs import KINDS, Here, needs_of

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data" / "clients.json"
PAGE = ROOT / "docs" / "clients.md"

# Parts of CANN, to which a name belongs; the first pattern that is found in "kind name" decides.
PARTS = (
    (
        "objects for operators",
        r"functions acl(?:Create|Destroy|Get|Set|Init|Add)\w*"
        r"(?:Tensor|Scalar|Array|View|Storage|Executor|DataType|Format)|acl_meta|aclnn_base|nnopbase",
    ),
    ("operators of aclnn", r"^operators |aclnn|opapi"),
    ("operators of ATB", r" (?:atb|mki|lcal)\b|ATB_|^libraries asdsip"),
    (
        "compiler of kernels",
        r"kernel_operator|tik|ascendc|kernel_tiling| (?:lib|tiling)/|opbuild|ccec|hcc|tiling|aicpu",
    ),
    (
        "graph engine",
        r" (?:ge|graph|exe_graph|register|metadef|external/(?:ge|graph|register))/|proto|parser|ge_|graph|"
        r"libraries (?:register|exe_graph|lowering|aoe_tuning)|op_proto|hcom_",
    ),
    ("images and video", r"dvpp|media|venc|vdec|jpeg|himpi"),
    ("models", r"mdl(?!RI)|aclfv|acl_retr|\bfv\."),
    ("single operators", r"aclop|acl_op|\bop\.|blas|cblas|acl_op_"),
    ("queues", r"tdt"),
    ("profiling", r"prof|mstx|mspti|ms_tools|msptiActivity"),
    ("collective communication", r"[Hh]ccl|HCCL"),
    ("driver", r"functions (?:hal|drv|dcmi)|ascend_hal|dcmi|dsmi|driver"),
    ("inner runtime", r"functions rt|runtime/|libraries runtime"),
    ("bounded functions of strings", r"_s$|securec|c_sec"),
    ("logs and errors", r"log$|slog|error_manager|err_mgr|err_msg"),
    ("questions to npu-smi", r"^questions "),
    ("variables that users set", r"^variables "),
    ("other places in a toolkit", r"^paths "),
    ("runtime", r"functions acl|pyacl "),
    ("others", r""),
)

HEAD = """\
# Clients that build on a laptop

The table shows what {count} public repositories need of CANN, and how much of it ascend_rt has. `tools/client_table.py`
writes it from [data](data/clients.json), which `tools/client_needs.py` has read from one commit of each. The same
program [checks any other checkout](native_clients.md#when-something-is-missing).

Needs are headers that a repository includes and does not have, libraries, functions of C and of pyACL, variables, paths
in a toolkit and questions to `npu-smi`. All code of a repository counts, also parts that a build does not choose. A
function that is here may refuse its work with a text: [libraries by name](native_clients.md#libraries-by-name) lists
what each library refuses. Operators are not here: [PyTorch](torch.md) runs operators without an NPU.

## Clients

| Client | Commit | Here, of those needed | Missing |
|---|---|---|---|
"""

TRIED = """
## Builds that were tried

The other repositories were read and not built.

| Client | Result |
|---|---|
"""

MOST = """
## Needs that most often are not met

| Name | Kind | Part of | Clients |
|---|---|---|---|
"""


def page(clients: Mapping[str, Any], here: Here) -> str:
    """Return the text of the page."""
    missing = {name: here.missing(client["needs"]) for name, client in clients.items()}
    rows = [_row(name, clients[name], missing[name]) for name in sorted(clients, key=str.lower)]
    tried = [f"| {_link(name)} | {client['tried']} |\n" for name, client in sorted(clients.items()) if client["tried"]]
    return HEAD.format(count=len(clients)) + "".join(rows) + TRIED + "".join(tried) + MOST + "".join(_most(missing))


def _link(name: str) -> str:
    return f"[{name}](https://github.com/{name})"


def _row(name: str, client: Mapping[str, Any], missing: Mapping[str, list[str]]) -> str:
    counts = [
        f"{len(needed) - len(missing[kind])}/{len(needed)} {'questions' if kind == 'questions' else kind}"
        for kind, needed in client["needs"].items()
        if needed
    ]
    parts = Counter(_part(kind, each) for kind, names in missing.items() for each in names)
    lacks = ", ".join(f"{part} ({count})" for part, count in parts.most_common()) or "nothing"
    return f"| {_link(name)} | `{client['commit'][:8]}` | {', '.join(counts)} | {lacks} |\n"


def _part(kind: str, name: str) -> str:
    return next(part for part, pattern in PARTS if re.search(pattern, f"{kind} {name}"))


def _most(missing: Mapping[str, Mapping[str, list[str]]]) -> Iterator[str]:
    clients = Counter((kind, name) for kinds in missing.values() for kind, names in kinds.items() for name in names)
    several = [each for each in clients.items() if each[1] > 3 and each[0][0] != "operators"]
    for (kind, name), count in sorted(several, key=lambda each: (-each[1], each[0])):
        yield f"| `{name}` | {kind} | {_part(kind, name)} | {count} |\n"


def _text(clients: Mapping[str, Any]) -> str:
    """Return the data with a line for each kind of a client's needs."""
    lines = []
    for name, client in sorted(clients.items(), key=lambda item: item[0].lower()):
        needs = ",\n".join(f"   {json.dumps(kind)}: {json.dumps(client['needs'][kind])}" for kind in KINDS)
        about = "".join(f"  {json.dumps(key)}: {json.dumps(client[key])},\n" for key in ("commit", "tried"))
        lines.append(f' {json.dumps(name)}: {{\n{about}  "needs": {{\n{needs}\n  }}\n }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    """Run the program; return 1 if the page is another."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare the page, and write nothing")
    parser.add_argument("--add", nargs=3, metavar=("OWNER/NAME", "COMMIT", "CHECKOUT"), help="read a checkout first")
    arguments = parser.parse_args()
    clients = json.loads(DATA.read_text(encoding="utf-8"))
    if arguments.add:
        name, commit, checkout = arguments.add
        needs = {kind: dict(sorted(getattr(needs_of(Path(checkout)), kind).items())) for kind in KINDS}
        clients[name] = {"commit": commit, "tried": clients.get(name, {}).get("tried", ""), "needs": needs}
        DATA.write_text(_text(clients), encoding="utf-8")
    text = page(clients, Here())
    if arguments.check:
        return int(PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
