"""Switch the techniques of the oracle off, one by one, and explain the same images again.

    python benchmarks/ablation.py MODEL IMAGES --indices 0:100 --epsilon 0.05

MODEL is a file, or the name of a network that the suite makes, which is kept in ``--folder``.
Each technique only saves work: without it, an explanation is as sound, and the same unless a limit
ends it. Seconds and their limit are those of the clock of work, so that another machine, or a busy
one, gives the same table. ``ratio`` compares the total with that of the first row.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
from arguments import add_images, parsed, parser, read_images
from numpy.typing import NDArray
from suite_networks import MAKERS, made
from tables import Table, write

import milp_verix
from milp_verix import Explanation, OnnxNetwork
from milp_verix.base.clock import Deadline, elapsed_work
from milp_verix.oracle import oracle
from milp_verix.oracle.ball_bounds import Preparation
from milp_verix.oracle.engines import choice
from milp_verix.oracle.reuse import Memory
from milp_verix.searches import explain_search
from verix_encodings import row_slopes
from verix_encodings.work import worked

_OTHERS = choice._OTHERS


def _without(*names: str) -> list[tuple[ModuleType, str, Any]]:
    return [(choice, "_OTHERS", tuple(one for one in _OTHERS if one not in names))]


TECHNIQUES: Mapping[str, Sequence[tuple[type | ModuleType, str, Any]]] = {
    "known points": [(Memory, "suspects", lambda *_, **__: iter(()))],
    "flips": [(oracle.Oracle, "flipped", lambda *_: {})],
    "growth": [(Memory, "grown", lambda self, *_: np.full_like(self.upper, np.inf))],
    "pulled points": [(Memory, "pulled", lambda self, *_, **__: self)],
    "forecast": [(oracle.Oracle, "forecast", lambda *_: None)],
    "attacks": [(oracle.Oracle, "attacked", lambda *_: {})],
    "whole ball": [(oracle, "prepared", lambda problem, *_: Preparation(problem.margins))],
    "split": _without("split"),
    "beta": _without("beta"),
    "programs": _without(*choice._PROGRAM_SOLVERS),
    "slices that double": [(oracle.Oracle, "many_open", False)],
    "orders tried": [(explain_search, "furthest", lambda *given: given[-1])],
    "splits at points": [(row_slopes, "splittable", lambda *_: ())],
}
"""For each technique the attributes that are replaced to switch it off, and by which value."""


def main() -> int:
    """Run the ablation; return the exit code."""
    options = parser(__doc__)
    add_images(options)
    options.add_argument("--norm", default="linf")
    options.add_argument("--solver", default="auto")
    options.add_argument("--time-limit", type=float, default=20.0, help="seconds of work")
    options.add_argument("--without", nargs="+", choices=TECHNIQUES, default=[*TECHNIQUES])
    options.add_argument("--folder", type=Path, default=Path("suite-networks"))
    arguments = parsed(options)
    model = arguments.model
    path = made(model, arguments.folder) if model in MAKERS else Path(model)
    network = milp_verix.load_network(path)
    images = list(read_images(network, arguments))
    costs = "median seconds | most | total | ratio"
    table = Table(f"without | images | checks | solves | median size | undecided | {costs}")
    usual = 0.0
    for without in ("", *arguments.without):
        found, seconds = explained(network, images, arguments, without)
        usual = usual or sum(seconds)
        table.add(
            without or "nothing",
            len(found),
            sum(one.statistics.checks for one in found),
            sum(one.statistics.solves for one in found),
            f"{median(one.size for one in found):g}",
            sum(len(one.unknown) for one in found),
            *(f"{figure(seconds):.2f}" for figure in (median, max, sum)),
            f"{sum(seconds) / usual:.2f}",
        )
    if arguments.write:
        write(arguments.write, [table], [])
    return 0


def explained(
    network: OnnxNetwork, images: Sequence[tuple[int, NDArray[Any]]], arguments: Any, without: str
) -> tuple[list[Explanation], list[float]]:
    """Explain ``images`` without a technique; return the explanations and their seconds of work."""
    found, seconds = [], []
    limit = arguments.time_limit
    with ExitStack() as switched:
        for place in TECHNIQUES.get(without, ()):
            switched.enter_context(patch.object(*place))
        for _, x in images:
            began = worked()
            explanation = milp_verix.explain(
                network,
                x,
                epsilon=arguments.epsilon,
                norm=arguments.norm,
                solver=arguments.solver,
                features=arguments.features,
                time_limit=Deadline(planned=limit).within(limit),  # type: ignore[arg-type]
            )
            found.append(explanation)
            seconds.append(elapsed_work(began))
    return found, seconds


if __name__ == "__main__":
    raise SystemExit(main())
