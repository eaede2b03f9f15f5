"""Search minimum explanations by the code of an earlier commit and by this code, in turns.

    python benchmarks/minimum_before.py f2d3426 256x2=MODEL,IMAGES,0.02,0:3 --limit 30

Each argument is NAME=MODEL,IMAGES,EPSILON,INDICES or NAME=MODEL,IMAGES,EPSILON,INDICES,pixels. Each
search runs in a process of its own, with limits and seconds of its processor, by a copy of the
commit. Columns named "before" are those of the commit. Exits with 1 where a search fails, a
counterfactual fails in onnxruntime, or a size is below a bound that was proven.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arguments import numbers, parser, read_image, solver_versions
from suite_processes import SCRIPT, environment
from tables import ROOT, Table, archived, write

import milp_verix


@dataclass(frozen=True)
class Case:
    """A network, some images, and the ball around these."""

    name: str
    model: str
    images: str
    epsilon: float
    indices: list[int]
    pixels: bool

    def request(self, index: int, limit: float) -> dict[str, Any]:
        """Return the request that ``suite_run.py`` reads, about the image ``index``."""
        network = milp_verix.load_network(self.model)
        x = read_image(network, f"{self.images}[{index}]").reshape(network.input_shape)
        request: dict[str, Any] = {
            "question": "minimum",
            "cpu_clock": True,
            "network": self.model,
            "x": x.tolist(),
            "domain": [0.0, 1.0],
            "epsilon": self.epsilon,
            "time_limit": limit,
        }
        if self.pixels:
            # numbers of pixels, for networks that take flat images, too
            request["features"] = (np.arange(x.size) // 3).reshape(x.shape).tolist()
        return request


def case(text: str) -> Case:
    """Read a case from the command line."""
    name, rest = text.split("=", 1)
    model, images, epsilon, indices, *pixels = rest.split(",")
    return Case(name, model, images, float(epsilon), [*numbers(indices)], bool(pixels))


def searched(request: dict[str, Any], tree: Path) -> dict[str, Any]:
    """Return the outcome of a request by the code in ``tree``."""
    with tempfile.TemporaryDirectory() as folder:
        asked, told = Path(folder) / "request.json", Path(folder) / "outcome.json"
        asked.write_text(json.dumps(request))
        # -P: beside the script are modules of this checkout
        command = [sys.executable, "-P", str(SCRIPT), str(asked), str(told)]
        subprocess.run(command, check=True, env=environment(tree))
        found: dict[str, Any] = json.loads(told.read_text())
        return found


def main() -> int:
    """Search, print a row for each image; return the exit code."""
    options = parser(__doc__)
    options.add_argument("before", metavar="COMMIT")
    options.add_argument("cases", nargs="+", type=case)
    options.add_argument("--limit", type=float, default=30.0)
    arguments = options.parse_args()
    table = Table(
        "network | ε | ReLUs | image | bound before | size before | seconds before "
        "| bound | size | seconds"
    )
    wrong = 0
    with archived(arguments.before) as before:
        for one in arguments.cases:
            relus = milp_verix.load_network(one.model).ir.relu_count
            for index in one.indices:
                request = one.request(index, arguments.limit)
                found = [searched(request, tree) for tree in (before, ROOT)]
                cells = [
                    (f"{run['lower_bound']:g}", run["size"], f"{run['seconds']:.1f}")
                    for run in found
                ]
                table.add(one.name, f"{one.epsilon:g}", relus, index, *cells[0], *cells[1])
                highest = max(run["lower_bound"] for run in found)
                wrong += sum(run["failing"] + (run["size"] < highest) for run in found)
    print(f"\n{wrong} contradictions")
    if arguments.write:
        write(arguments.write, [table], solver_versions(["auto"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
