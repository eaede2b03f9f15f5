"""Several engines at work on one claim at the same time, until one of them decides it."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace

from milp_verix.clock import StoppableDeadline
from milp_verix.errors import SolverError
from milp_verix.oracle.engines.claim import Claim, Decision, Engine
from milp_verix.solvers.interrupt import LONGEST_WAIT


def side_by_side(
    engines: Sequence[Engine], claim: Claim, decides: Callable[[Decision], bool]
) -> list[Decision | SolverError | None]:
    """Ask each of ``engines``, in a thread of its own if there are several.

    Once one has decided, the others are stopped. Returns the decision of each engine or the error
    that it raised, None for those stopped.
    """
    if len(engines) < 2:
        return [_alone(engine, claim) for engine in engines]
    until = StoppableDeadline(claim.deadline.at)
    claim = replace(claim, deadline=until)
    with ThreadPoolExecutor(len(engines)) as threads:
        asked = [threads.submit(engine.decide, claim) for engine in engines]
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
    return [None if one in running else _outcome(one) for one in asked]


def _alone(engine: Engine, claim: Claim) -> Decision | SolverError:
    try:
        return engine.decide(claim)
    except SolverError as error:
        return error


def _decided(one: Future[Decision], decides: Callable[[Decision], bool]) -> bool:
    return one.done() and one.exception() is None and decides(one.result())


def _outcome(one: Future[Decision]) -> Decision | SolverError:
    error = one.exception()
    if isinstance(error, SolverError):
        return error
    return one.result()
