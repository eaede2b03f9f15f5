"""Several engines at work on one claim at the same time, until one of them decides it."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from milp_verix.clock import StoppableDeadline
from milp_verix.errors import SolverError
from milp_verix.oracle.engines.claim import Claim, Decision, Engine
from milp_verix.solvers.interrupt import LONGEST_WAIT
from verix_encodings.work import go_on_from, worked


def side_by_side(
    engines: Sequence[Engine], claim: Claim, decides: Callable[[Decision], bool]
) -> list[Decision | SolverError | None]:
    """Ask each of ``engines``, in a thread of its own if there are several.

    Once one has decided, the others are stopped. Returns the decision of each engine or the error
    that it raised, None for those stopped.
    """
    if len(engines) < 2:
        return [_alone(engine, claim) for engine in engines]
    given = claim.deadline
    until = StoppableDeadline(given.at, given.work_at, full=given.full)
    claim = replace(claim, deadline=until)
    with ThreadPoolExecutor(len(engines)) as threads:
        reading = worked()
        asked = [threads.submit(_decision, engine, claim, reading) for engine in engines]
        running = set(asked)
        try:
            while running and not any(_decided(one, decides) for one in asked):
                # Ctrl-C reaches this thread between two waits
                running = wait(running, LONGEST_WAIT, FIRST_COMPLETED).not_done
        finally:
            running = {one for one in asked if not one.done()}
            until.stop()
            for engine, one in zip(engines, asked, strict=True):
                if one in running:
                    engine.interrupt()
    go_on_from(max([reading, *(_reading(one) for one in asked if one not in running)]))
    return [None if one in running else _outcome(one) for one in asked]


def _decision(engine: Engine, claim: Claim, reading: int) -> tuple[Decision, int]:
    """Return the decision of ``engine`` and the clock of work then; it is at ``reading`` now."""
    go_on_from(reading)
    return engine.decide(claim), worked()


def _reading(one: Future[tuple[Decision, int]]) -> int:
    return 0 if one.exception() is not None else one.result()[1]


def _alone(engine: Engine, claim: Claim) -> Decision | SolverError:
    try:
        return engine.decide(claim)
    except SolverError as error:
        return error


def _decided(one: Future[tuple[Decision, int]], decides: Callable[[Decision], bool]) -> bool:
    return one.done() and one.exception() is None and decides(one.result()[0])


def _outcome(one: Future[tuple[Decision, int]]) -> Decision | SolverError:
    error = one.exception()
    if isinstance(error, SolverError):
        return error
    return one.result()[0]
