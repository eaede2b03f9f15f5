"""Compare the clock of work with the processor's: nanoseconds of a core for each unit of work.

    python benchmarks/work_clock.py

A ratio near 1 for every kind of work chose the constants of ``verix_encodings.work`` and
``milp_verix.solvers.session``. Choices go by these constants, so they are the same on every
machine; the ratios here only say how far a second of work is from a second.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import milp_verix as mv
from milp_verix.base.clock import NO_LIMIT
from milp_verix.solvers import Targets, open_session
from milp_verix.solvers.session import Interrupt
from milp_verix.solvers.warm_lp import WarmLp
from verix_encodings import Interval, Network, NormBall, crown_bounds, encode
from verix_encodings.network import batch_gradients, batch_values
from verix_encodings.row_slopes import Relaxed, RowSlopes
from verix_encodings.safe_bounds import SafeBound
from verix_encodings.work import worked

EXAMPLES = Path(__file__).parents[1] / "examples"
SHARED = Path(__file__).parents[2] / "shared" / "models"
MODELS = (
    EXAMPLES / "digits.onnx",
    SHARED / "mnist-10x2.onnx",
    SHARED / "digits-maxpool-cnn.onnx",
    SHARED / "adult-AC-4.onnx",
)
_SECONDS = 0.5


def ratio(work: Callable[[], object]) -> str:
    """Return the nanoseconds of the processor for each unit of ``work``, repeated."""
    work()
    reading, started = worked(), time.process_time()
    while time.process_time() - started < _SECONDS:
        work()
    return f"{1e9 * (time.process_time() - started) / max(worked() - reading, 1):.2f}"


def kinds(network: Network) -> dict[str, Callable[[], object]]:
    """Return functions that do one kind of work each."""
    rng = np.random.default_rng(0)
    size, outputs = network.input_size, network.output_size
    x = rng.random(size)
    box = Interval(np.maximum(x - 0.05, 0), np.minimum(x + 0.05, 1))
    ball = NormBall(box, x, 0.5, 2)
    one, many = x[:, None], rng.random((size, 200))
    bounds = crown_bounds(network, box)
    at = np.zeros(200, dtype=np.intp)
    relaxation = Relaxed.of(network, bounds)
    encoding = encode(network, bounds)
    program, safe = encoding.program, SafeBound(encoding.program.relaxed)
    multipliers, cost = rng.normal(size=program.rows), encoding.output.row(0, program.columns)[0]
    lp, session = WarmLp(1, mv.Tolerances()), open_session("highs")

    def descended() -> None:
        slopes = RowSlopes(relaxation, np.eye(outputs))
        slopes.extremes(box)
        slopes.descend(1)
        slopes.extremes(box)

    def relaxed() -> None:
        lp.load(program)
        for row in range(outputs):
            lp.set_cost(encoding.output.row(row, program.columns)[0])
            lp.solve(np.inf, NO_LIMIT, Interrupt())

    def solved() -> None:
        session.load(program)
        session.minimise(cost, Targets())

    return {
        "one value": lambda: network.evaluate(x),
        "values of one": lambda: batch_values(network, one),
        "values of 200": lambda: batch_values(network, many),
        "gradients of 200": lambda: batch_gradients(network, batch_values(network, many), at),
        "bounds, box": lambda: crown_bounds(network, box),
        "bounds, L2": lambda: crown_bounds(network, ball),
        "slopes": descended,
        "encoding": lambda: encode(network, bounds),
        "safe bound": lambda: safe.lower(cost, multipliers),
        "warm LP": relaxed,
        "HiGHS": solved,
    }


def main() -> None:
    """Print a line for each network."""
    for path in filter(Path.is_file, MODELS):
        network = mv.load_network(path).ir
        found = {name: ratio(work) for name, work in kinds(network).items()}
        print(f"{path.name:24s}", "  ".join(f"{name} {r}" for name, r in found.items()), flush=True)


if __name__ == "__main__":
    main()
