"""Compare every solver and formulation on the same checks of five networks in three norms.

    python benchmarks/solver_study.py --shared ../shared --journal study.jsonl
    python benchmarks/solver_study.py --shared ../shared --journal study.jsonl --write solver-study

The first command is the whole study: 14 inputs of each of 15 pairs of network and norm, 210 checks
in all, with 10 s for each check and pair. It goes on where it was, so that it may be stopped at any
time. ``--inputs`` and ``--limit`` make it smaller. Times are processor time of all processes that
take part, which other load on the machine blurs least; ``--wall`` is the limit on the wall, which
has to be longer on a busy machine. ``--warm`` compares ways to keep a program from check to check,
with L∞ balls and eight checks of each input.

The second command does the tasks that are left, then writes the table into RESULTS.md and the
picture ``solver_study.png`` beside it; with ``--as-it-is`` it does none.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from tables import Table, add_write, write

import milp_verix as mv
from milp_verix.study.parts import Part, part_of
from milp_verix.study.study_run import run_parts
from milp_verix.views.text_tables import STUDY_HEADS, meaning, study_rows

ROOT = Path(__file__).resolve().parents[1]
PICTURES = [ROOT / "benchmarks" / name for name in ("solver_study.png", "warm_study.png")]
WARM_CHECKS = 8
FORMULATIONS = ("big_m", "indicator", "sos1", "general", "partition:2")


@dataclass(frozen=True)
class Source:
    """A network with its inputs, and a radius for each norm at which checks need a solver."""

    network: str
    inputs: str
    radii: dict[str, float]
    columns: bool = False

    def parts(
        self, shared: Path, count: int, options: dict[str, Any], grid: dict[str, Any] | None
    ) -> Iterator[Part]:
        """Yield the part of the study for each norm."""
        network = mv.load_network(_place(self.network, shared))
        path, _, key = self.inputs.partition(":")
        with np.load(_place(path, shared)) as archive:
            raw = archive[key]
        domain: Any = (0.0, 1.0)
        xs = raw[:count].astype(np.float32)
        if self.columns:
            domain = (raw.min(axis=0).astype(float), raw.max(axis=0).astype(float))
        elif raw.dtype == np.uint8:
            xs = xs / np.float32(255)
        xs = xs.reshape(count, *network.input_shape[1:])
        for norm, epsilon in self.radii.items():
            asked = {**options, "norm": norm, "domain": domain}
            yield part_of(network, xs, epsilon=epsilon, task="compare", grid=grid, options=asked)


SOURCES = (
    Source(
        "examples/digits.onnx", "examples/digits.npz:images", {"linf": 0.15, "l1": 2, "l2": 0.6}
    ),
    Source(
        "models/mnist-10x2.onnx",
        "data/mnist_test.npz:images",
        {"linf": 0.05, "l1": 4, "l2": 0.8},
    ),
    Source(
        "models/gtsrb-10x2.onnx",
        "data/gtsrb10.npz:test_images",
        {"linf": 0.01, "l1": 3, "l2": 0.4},
    ),
    Source("models/adult-AC-1.onnx", "data/adult.npz:X", {"linf": 10, "l1": 20, "l2": 10}, True),
    Source(
        "models/fame-mnist-cnn.onnx",
        "data/mnist_test.npz:images",
        {"linf": 0.05, "l1": 4, "l2": 0.8},
    ),
)


def _place(name: str, shared: Path) -> Path:
    return (ROOT if name.startswith("examples") else shared) / name


def main() -> None:
    """Do the tasks that are left; write the table if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, required=True, help="folder of models and data")
    parser.add_argument("--journal", type=Path, required=True, help="where the study goes on")
    parser.add_argument("--inputs", type=int, default=14, help="inputs of each network and norm")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each check and pair")
    parser.add_argument(
        "--wall", type=float, help="seconds on the wall that end a run; by default, the limit"
    )
    parser.add_argument("--warm", action="store_true", help="compare warm starts instead")
    parser.add_argument("--solvers", help="names with commas between; all installed by default")
    parser.add_argument("--clock", choices=("cpu", "wall"), default="cpu", help="times that count")
    parser.add_argument("--as-it-is", action="store_true", help="do no task that is left")
    add_write(parser)
    given = parser.parse_args()
    options: dict[str, Any] = {
        "solvers": given.solvers.split(",") if given.solvers else None,
        "formulations": list(FORMULATIONS),
        "most_checks": 1,
        "check_time_limit": given.wall or given.limit,
        "relaxations": True,
    }
    sources, grid = SOURCES, None
    if given.warm:
        # a program over the whole ball is one of an L∞ ball, in the formulation big_m
        sources = tuple(replace(one, radii={"linf": one.radii["linf"]}) for one in SOURCES)
        options |= {"formulations": ["big_m"], "most_checks": WARM_CHECKS, "relaxations": False}
        grid = {"warm": ["rebuilt", "in_place", "start"]}
    parts = (
        []
        if given.as_it_is
        else [
            part for one in sources for part in one.parts(given.shared, given.inputs, options, grid)
        ]
    )
    # all networks and norms first, so that a part of the study is a study
    for index in range(0 if given.as_it_is else given.inputs):
        for part in parts:
            run_parts([replace(part, indices=[index])], given.journal, results=False)
        print(f"input {index}: {mv.read_solver_study(given.journal)!r}", flush=True)
    study = mv.read_solver_study(given.journal, clock=given.clock, limit=given.limit)
    table = Table("|".join(STUDY_HEADS), words=2)
    for row in study_rows(study.times):
        table.add(*row)
    if given.write:
        study.plot(PICTURES[given.warm])
        write(given.write, [meaning(study.times), table])


if __name__ == "__main__":
    main()
