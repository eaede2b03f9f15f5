"""A time limit holds from the call on, and so does Ctrl-C: orders and first bounds included."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milp_verix
from milp_verix import ContrastiveExplanation, Enumeration, Explanation, Problem
from milp_verix.api.calls import explain
from milp_verix.base.clock import Deadline, OutOfTimeError, deadline_in
from milp_verix.oracle.ball_bounds import whole_ball
from tests.support.clocks import wall_clock
from tests.support.digits_example import IMAGES, MODEL, images, network
from tests.support.interrupts import interrupt
from verix_encodings import crown, interval_bounds

ROBUST: dict[str, Any] = {"epsilon": 0.001}
OPEN: dict[str, Any] = {"epsilon": 0.1}
ORDERS = ("influence", "adaptive", "bound", "margin", "sensitivity")


def test_a_deadline_passes() -> None:
    assert not Deadline().passed()
    assert 8 < deadline_in(9.0).seconds <= 9
    late = deadline_in(-1.0)
    assert late.passed()
    with pytest.raises(OutOfTimeError):
        late.require_time()


def after_the_last_block(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let each pass of bounds take ``seconds`` more, once its last bound is known."""
    tightened, clock = crown._tightened, wall_clock(monkeypatch)

    def slow(*args: Any, **options: Any) -> Any:
        found = tightened(*args, **options)
        net, _, bounds, *_ = args
        if len(bounds) > len(net.nodes):
            clock.now += seconds
        return found

    monkeypatch.setattr(crown, "_tightened", slow)


@pytest.mark.slow
@pytest.mark.parametrize("traversal", ["galloping", "sequential"])
@pytest.mark.parametrize("order", ["influence", "sequential"])
def test_what_is_proven_when_time_is_up_counts(
    order: str, traversal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_last_block(monkeypatch, 1.1)
    options: dict[str, Any] = {"order": order, "traversal": traversal, **ROBUST}
    found = explain(network(), images()[0], time_limit=1.0, **options)
    assert found.irrelevant == tuple(range(64))
    assert (found.unknown, found.statistics.stopped) == ((), None)
    assert found.order == "sequential" or order == "influence"


@pytest.mark.slow
def test_what_is_proven_when_time_is_up_counts_for_checks_and_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    after_the_last_block(monkeypatch, 1.1)
    limited: dict[str, Any] = {"time_limit": 1.0, **ROBUST}
    x = images()[0]
    assert milp_verix.check(network(), x, range(64), **limited).holds
    assert milp_verix.contrastive(network(), x, **limited).robust
    assert milp_verix.minimum(network(), x, **limited).irrelevant == tuple(range(64))


def test_one_forward_pass_is_enough_where_it_proves_everything() -> None:
    x = images()[0]
    problem = Problem(network(), x, epsilon=1e-5)
    region = problem.ball.region(np.arange(64))
    margins = problem.question.margins(problem.network.ir)
    assert interval_bounds(margins, region)[-1].upper.max() < -1e-3
    found = explain(network(), x, epsilon=1e-5, time_limit=1e-9)
    assert found.irrelevant == tuple(range(64))
    assert found.order == "sequential"
    assert any("time limit passed before the order 'influence'" in note for note in found.notes)


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_that_is_not_known_in_time_is_replaced_and_this_is_said(order: str) -> None:
    found = explain(network(), images()[15], order=order, time_limit=1e-9, **OPEN)
    assert found.order == "sequential"
    assert found.permutation == tuple(range(64))
    assert any(f"time limit passed before the order {order!r}" in note for note in found.notes)
    assert set(found.unknown_reasons.values()) == {"time limit"}
    assert found.statistics.stopped == "time limit"
    assert len(found.unknown) == 64
    whole = explain(network(), images()[15], order=order, time_limit=600, **OPEN)
    assert whole.order == order
    assert not any("before the order" in note for note in whole.notes)


def test_bounds_that_were_cut_short_say_so_and_hold() -> None:
    problem = Problem(network(), images()[15], **OPEN)
    cut, whole = whole_ball(problem, deadline_in(-1.0)), whole_ball(problem)
    assert (cut.finished, whole.finished) == (False, True)
    for wide, tight in zip(cut.bounds, whole.bounds, strict=True):
        assert np.all((wide.lower <= tight.lower) & (tight.upper <= wide.upper))


class Units:
    """Counts the blocks of rows that are bounded, each of ``seconds``, and those begun too late."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, limit: float, seconds: float) -> None:
        self.begun = self.late = 0
        self.deadline = np.inf
        self._limit, self._clock = limit, wall_clock(monkeypatch)
        monkeypatch.setattr(crown, "_BLOCK", 1)
        monkeypatch.setattr(crown, "_LEAST_ROWS", 1)
        bounded = crown.upper_form

        def slow(*args: Any, **options: Any) -> Any:
            self.begun += 1
            self.late += self._clock.now >= self.deadline
            self._clock.now += seconds
            return bounded(*args, **options)

        monkeypatch.setattr(crown, "upper_form", slow)

    def start(self) -> None:
        self.deadline = self._clock.now + self._limit


def run_explain(order: str) -> Callable[..., Any]:
    return lambda *args, **options: explain(*args, order=order, **options)


def run_check(*args: Any, **options: Any) -> Any:
    return milp_verix.check(*args, range(64), **options)


def run_compare(*args: Any, **options: Any) -> Any:
    # each run has the limit, and so has the explanation before runs of checks
    return milp_verix.compare(*args, solvers=["phase"], task="explain", **options)


@pytest.mark.parametrize(
    "run",
    [
        *(pytest.param(run_explain(order), id=order) for order in ORDERS),
        pytest.param(run_check, id="check"),
        pytest.param(run_compare, id="compare"),
        pytest.param(milp_verix.minimum, id="minimum"),
        pytest.param(milp_verix.contrastive, id="contrastive"),
        pytest.param(milp_verix.enumerate_explanations, id="enumerate"),
    ],
)
def test_no_more_than_one_unit_of_work_is_begun_after_the_deadline(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    units = Units(monkeypatch, limit=0.5, seconds=0.05)
    units.start()
    # one pass takes dozens of units
    found = run(network(), images()[15], time_limit=0.5, **OPEN)
    assert units.begun > 2
    assert units.late <= 1
    if isinstance(found, Explanation):
        assert found.statistics.stopped == "time limit"
        assert found.replay(network()) == ()


INTERRUPTED_IN_BOUNDS = [
    milp_verix.minimum,
    milp_verix.contrastive,
    milp_verix.enumerate_explanations,
    *(run_explain(order) for order in ("influence", "adaptive", "margin", "sequential")),
]


@pytest.mark.parametrize("run", INTERRUPTED_IN_BOUNDS)
def test_ctrl_c_in_the_first_bounds_returns_a_sound_result(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crown, "_tightened", interrupt)
    found = run(network(), images()[15], **OPEN)
    assert found.statistics.stopped == "interrupted"
    if isinstance(found, Explanation):
        assert found.irrelevant == ()
        # known points may give counterfactuals in the moment that is left
        assert len(found.unknown) + len(found.counterfactuals) == 64
        assert len(found.unknown) > 32
        assert found.replay(network()) == ()


def test_ctrl_c_in_the_order_keeps_what_the_bounds_have_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("milp_verix.searches.order.sensitivity", interrupt)
    found = explain(network(), images()[0], order="sensitivity", **ROBUST)
    assert found.statistics.stopped == "interrupted"
    assert found.irrelevant == tuple(range(64))
    found = explain(network(), images()[15], order="sensitivity", **OPEN)
    assert set(found.unknown_reasons.values()) == {"interrupted"}
    assert any("before the order 'sensitivity'" in note for note in found.notes)


# the first pass of bounds, or the reading of the network, takes for ever
COMMAND = """
import sys, time
from pathlib import Path
import milp_verix.__main__ as cli
import milp_verix.cli.model_and_input as cli_question
from verix_encodings import crown

there, tightened = Path(sys.argv[1]), crown._tightened

def slow(*args, **options):
    if there.exists():
        return tightened(*args, **options)
    there.touch()
    time.sleep(600)

if sys.argv[2] == "loading":
    cli_question.load_network = slow
else:
    crown._tightened = slow
sys.argv = ["milp-verix", *sys.argv[3:]]
cli.main()
"""


def interrupted_command(
    number: signal.Signals, folder: Path, where: str, *args: object
) -> tuple[int, str]:
    """Send a signal to a command once it is at the slow place; return exit code and stderr."""
    there = folder / "there"
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(there), where, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    try:
        until = time.monotonic() + 120
        while not there.exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "number"),
    [
        ("explain", signal.SIGINT),
        ("explain", signal.SIGTERM),
        ("minimum", signal.SIGINT),
        ("contrastive", signal.SIGINT),
        ("enumerate", signal.SIGTERM),
    ],
)
def test_a_command_interrupted_in_its_first_bounds_writes_what_json_promises(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    args = (command, MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1, "--json", out)
    code, errors = interrupted_command(number, tmp_path, "bounds", *args)
    assert (code, errors) == (130, "")
    if command == "contrastive":
        contrast = ContrastiveExplanation.from_json(out)
        assert (contrast.contrast, contrast.statistics.stopped) == (None, "interrupted")
    elif command == "enumerate":
        assert Enumeration.from_json(out).statistics.stopped == "interrupted"
    else:
        found = Explanation.from_json(out)
        assert found.statistics.stopped == "interrupted"
        # minimum takes a second more, to tell of what it has
        assert command == "minimum" or len(found.unknown) == 64
        assert set(found.unknown_reasons.values()) <= {"interrupted", "time limit"}
        assert found.replay(network()) == ()
    assert [
        path.name for path in tmp_path.iterdir() if path.name not in ("out.json", "there")
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_interrupted_as_it_reads_the_network_says_one_line(
    number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "out.json"
    args = ("explain", MODEL, f"{IMAGES}:images[15]", "--epsilon", 0.1, "--json", out)
    code, errors = interrupted_command(number, tmp_path, "loading", *args)
    assert code == 130
    assert errors.startswith("interrupted")
    assert len(errors.splitlines()) == 1
    assert not out.exists()
