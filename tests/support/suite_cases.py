"""Where the cases of ``milp_verix/testing/cases.json`` come from; the file is written by

    python -m tests.support.suite_cases

A case is a list of steps: ``load`` and ``extend`` have a program, ``bounds`` columns and their
ends, ``ask`` a cost, the ``best`` that it has as a fraction, and targets. Optima are found by
enumeration and elimination in whole numbers (``exact_optima``), or known by construction.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.testing.cases import builder_of
from tests.support.exact_optima import optimum
from tests.support.repository import ROOT

FILE = ROOT / "milp_verix" / "testing" / "cases.json"
Steps = list[dict[str, Any]]

WRITTEN: dict[str, dict[str, Any]] = json.loads(
    (ROOT / "tests" / "fixtures" / "suite_programs.json").read_text(encoding="utf-8")
)
"""Programs by name, each with a cost; the best of balls is by hand.

That of balls between rows, where bounds of SCIP and Gurobi were too high, is held by
``test_balls_between_rows``.
"""


class Script:
    """The steps of one case, with the optimum of each question."""

    def __init__(self, program: dict[str, Any]) -> None:
        self.steps: Steps = []
        self.load(program)

    def load(self, program: dict[str, Any], how: str = "load") -> None:
        self.steps.append({how: program})
        self.program = builder_of(program).build()

    def bounds(self, columns: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        at = np.atleast_1d(columns)
        ends = np.broadcast_arrays(at, low, high)
        self.steps.append({"bounds": [end.tolist() for end in ends]})
        self.program = self.program.with_bounds(at, *ends[1:])

    def ask(self, cost: ArrayLike, best: object = "found", **more: object) -> object:
        weights = np.asarray(cost, dtype=np.float64)
        if best == "found":
            best = optimum(self.program, weights)
        told = None if best is None else str(best)
        numbers = [int(c) if c.is_integer() else c for c in weights.tolist()]
        self.steps.append({"ask": numbers, "best": told, **more})
        return best


def mixed(seed: int) -> dict[str, Any]:
    """Return a program of two continuous columns, three binaries and four rows, never empty."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-5, 6, (4, 5)) * (rng.random((4, 5)) < 0.8)
    ends = -rng.integers(1, 6, 4), rng.integers(1, 6, 4) + 0.25
    return {
        "box": [[-2, 2]] * 2 + [[0, 1]] * 3,
        "whole": [2, 3, 4],
        "rows": [[row.tolist(), int(a), float(b)] for row, a, b in zip(rows, *ends, strict=True)],
    }


def covering(seed: int) -> dict[str, Any]:
    """Return a program of nine binaries whose optimum takes branching."""
    rows = np.random.default_rng(seed).integers(2, 9, (3, 9))
    asked = [[row.tolist(), int(row.sum() * 0.45), None] for row in rows]
    return {"box": [[0, 1]] * 9, "whole": list(range(9)), "rows": asked}


def pairing(size: int) -> tuple[dict[str, Any], list[int], int]:
    """Return an assignment of ``size`` pairs, its cost, and its optimum, which one pairing has."""
    rng = np.random.default_rng(size)
    prices, best = rng.integers(1, 50, (2, size)), rng.permutation(size)
    cost = prices[0][:, None] + prices[1] + rng.integers(1, 20, (size, size))
    cost[np.arange(size), best] = prices[0] + prices[1][best]
    one, ones = np.eye(size, dtype=int), np.ones(size, dtype=int)
    rows = [[row.tolist(), 1, 1] for row in np.vstack([np.kron(one, ones), np.kron(ones, one)])]
    program = {"box": [[0, 1]] * size**2, "rows": rows}
    return program, cost.ravel().tolist(), int(prices.sum())


def cost_of(columns: int, seed: int) -> Any:
    """Return a cost of whole numbers other than zero."""
    rng = np.random.default_rng(seed)
    return rng.integers(1, 10, columns) * rng.choice([-1, 1], columns)


def written(data: dict[str, Any]) -> Steps:
    """Ask for both directions, and with a binary or two fixed; such without ends may be refused."""
    program = {key: value for key, value in data.items() if key not in ("cost", "best")}
    script, cost = Script(program), np.array(data["cost"], dtype=np.float64)
    if "best" in data:
        for _ in range(2):
            script.ask(cost, data["best"], **({"may_fail": True} if "rows" in data else {}))
    elif any(None in ends for ends in data["box"]):
        script.ask(cost, may_fail=True)
    elif script.ask(cost) is not None:
        script.ask(-cost)
        for j in data.get("whole", [])[:2]:
            for value in (0, 1):
                script.bounds(j, value, value)
                script.ask(cost)
    return script.steps


def changes(seed: int) -> Steps:
    """Change costs and bounds in turns, beyond those loaded, too, and end that by a load."""
    script, rng, cost = Script(mixed(seed)), np.random.default_rng(seed), cost_of(5, seed)
    ends = script.program.column_lower, script.program.column_upper
    script.ask(cost_of(5, seed + 1))
    script.ask(cost)
    for width in (1, 2, 16):
        j, k, whole = rng.choice(2), 2 + rng.choice(3), rng.integers(2)
        low = -width * rng.integers(1, 7) / 8
        script.bounds([k, j], [whole, low], [whole, low + width * rng.integers(1, 9) / 4])
        script.ask(cost)
        script.ask(-cost)
    script.bounds(np.arange(5), *ends)
    script.ask(cost)
    script.bounds([0, 2], [0, 1], [0, 1])
    script.load(mixed(seed))
    script.ask(cost)
    return script.steps


def early(seed: int) -> Steps:
    """Set targets on either side of the optimum, and none afterwards."""
    script, cost = Script(covering(seed)), np.abs(cost_of(9, seed))
    best: Any = script.ask(cost)
    for violated, holds in (
        (9, None),
        (-1, None),
        (None, -0.5),
        (None, 0.5),
        (-2, -1),
        (-0.5, 0.5),
    ):
        beside = {"violated_below": violated, "holds_above": holds}
        script.ask(
            cost, best, **{key: float(best + k) for key, k in beside.items() if k is not None}
        )
    script.ask(cost, best, whole=True)
    script.ask(cost, best)
    return script.steps


def cases() -> Iterator[tuple[str, Steps]]:
    for name, data in WRITTEN.items():
        yield name, written(data)
    for seed in range(16):
        yield f"changes of costs and bounds {seed}", changes(seed)
    for seed in range(8):
        yield f"early ends {seed}", early(seed)

    script = Script(mixed(3))
    for seed in range(30):
        script.ask(cost_of(5, seed) * (seed % 7 > 0))
    yield "thirty costs", script.steps

    script = Script(
        {key: value for key, value in WRITTEN["equal columns"].items() if key != "cost"}
    )
    for ends in ((0, 0), (0, 1), (1, 1), (0, 1)):
        script.bounds(np.arange(6), *ends)
        script.ask(np.arange(6))
    yield "bounds that leave no point", script.steps

    # what is dropped may widen a row, and must not tighten it, for wider bounds either
    steps: Steps = []
    for entry, most in ((1e-10, 1e9), (9e-14, 1.0), (9e-14, 1e12)):
        script = Script({"box": [[0, 1]] * 2, "rows": [[[entry, -1], 0, 0]]})
        script.bounds(0, 0, most)
        script.ask([0, -1], bound_alone=True)
        steps += script.steps
    yield "entries that solvers drop", steps

    rng, rows = np.random.default_rng(1), [[[1] * 6, 2.5, None]]
    box, whole = [[0, 1]] * 6, list(range(6))
    script = Script({"box": box, "whole": whole, "rows": rows})
    for k in range(5):
        script.bounds(0, 1, 1)
        script.ask(np.abs(cost_of(len(box), k)))
        box, whole = [*box, [0, 1 + k % 3]], whole + [len(box)] * (k % 3 == 0)
        row = [*rng.integers(1, 5, 6).tolist(), *[0] * k, 1]
        rows = [[[*old, 0], low, high] for old, low, high in rows] + [[row, 6 + k, None]]
        # the extension comes with its own bounds
        script.load({"box": box, "whole": whole, "rows": rows}, "extend")
        script.ask(np.abs(cost_of(len(box), k)))
    script.load(mixed(0), "extend")
    script.ask(cost_of(5, 0))
    yield "growth by rows and columns", script.steps

    script, cost = Script(covering(9)), np.abs(cost_of(9, 9))
    best: Any = script.ask(cost)
    for number in (1, 0, 0.5, 1e30, np.nan):
        script.ask(cost, best, start=[number] * 9)
        script.ask(cost, best, start=[number] * 9, holds_above=float(best) - 0.5)
    script.ask(cost, best, first=[3, 1])
    yield "starts good and bad", script.steps

    program, prices, least = pairing(8)
    for name, columns in (("a pairing", list(range(64))), ("a relaxed pairing", [])):
        script = Script({**program, "whole": columns})
        for seconds in (None, 0.0, 1e-3, None):
            script.load(script.steps[0]["load"])
            script.ask(prices, least, **({} if seconds is None else {"seconds": seconds}))
        yield name, script.steps


def text() -> str:
    """Return the text of the file, a case a line."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(steps, separators=(',', ':'))}" for name, steps in cases()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
