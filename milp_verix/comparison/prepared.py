"""What is fixed before a solver runs: checks, what bounds and an attack decide, what they leave.

So every solver gets the same programs: claims with bounds that no solver's clock has deepened.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from milp_verix.base.clock import Deadline
from milp_verix.oracle.ball_bounds import SmallerBalls, WholeBall, whole_ball
from milp_verix.oracle.engines.engine import Claim
from milp_verix.oracle.engines.programs import deepened, pays_to_deepen
from milp_verix.oracle.oracle import Oracle
from milp_verix.oracle.verdict import Answer, Verdict
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search
from milp_verix.results.comparison import DecidedCheck

_DEEPENING = 2.0
"""Seconds of counted work for deeper bounds of a check, in place of any solver's clock.

Of the first check of `vnncomp-mnist-256x2` (image 24, ε = 0.05) both stages end within it.
"""


@dataclass(slots=True, eq=False)
class Prepared:
    """The ``checks`` of a comparison, those ``decided``, and the ``claims`` left, by number.

    ``verdicts`` are those of the checks decided. ``whole`` are the margins and the bounds over the
    whole ball, if they are known; all of it took ``seconds``.
    """

    checks: tuple[tuple[int, ...], ...]
    decided: list[DecidedCheck] = field(default_factory=list)
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    claims: dict[int, Claim] = field(default_factory=dict)
    whole: WholeBall | None = None
    late: int = 0
    seconds: float = 0.0

    @property
    def programs(self) -> int:
        """Number of programs: one for each rival of each check that is left."""
        return sum(claim.open_.size for claim in self.claims.values())


def prepare(
    problem: ProblemData,
    checks: Sequence[tuple[int, ...]],
    most: int | None,
    search: Search,
    deadline: Deadline,
) -> Prepared:
    """Bound and attack ``checks``; of those that are left open keep ``most``, spread over all.

    With ``most``, checks that are decided are not among those compared. Checks that the
    ``deadline`` leaves out are counted as ``late``.
    """
    began = time.monotonic()
    solver = "leaves" if problem.margins.stepped else "phase"
    if problem.ball.mixed is not None and not problem.margins.stepped:
        solver = "auto"
    quick = replace(search, solver=solver, formulation="big_m", exactness="bounds")
    quick = replace(quick, reuse=False, warm="rebuilt")
    found = Prepared(tuple(checks))
    numbers = range(len(checks)) if most is None else _spread(len(checks))
    with Oracle(problem, quick) as oracle:
        for number in numbers:
            if most is not None and len(found.claims) == most:
                break
            if deadline.passed():
                found.late += 1
                continue
            _prepare_check(oracle, number, found, search, deadline)
    if most is not None:
        chosen = sorted(found.claims)
        found = Prepared(
            tuple(checks[number] for number in chosen),
            claims={place: found.claims[number] for place, number in enumerate(chosen)},
            late=found.late,
        )
    if search.warm not in ("auto", "rebuilt"):  # one program over the whole ball
        with suppress(OverflowError):
            method = SmallerBalls.of(problem, search).method
            found.whole = whole_ball(problem, deadline, method)
    found.seconds = time.monotonic() - began
    return found


def _prepare_check(
    oracle: Oracle,
    number: int,
    found: Prepared,
    search: Search,
    deadline: Deadline,
) -> None:
    """Decide a check by bounds or an attack, or add what is left of it to ``found.claims``."""
    free, began, problem = found.checks[number], time.monotonic(), oracle.problem
    verdict, claim = oracle.left_open(problem.features.coordinates(free), deadline)
    by = "bounds"
    if not verdict.holds and free:
        stepped = problem.margins.stepped  # attacks follow slopes
        attack = {} if stepped else oracle.attacked(free[:-1], free[-1:], deadline)
        if free[-1] in attack:
            verdict, by = attack[free[-1]], "an attack"
        elif search.bounds == "auto" and pays_to_deepen(claim):
            claim, _ = deepened(claim, deadline.within(_DEEPENING))
            if not claim.open_.size:
                verdict = Verdict(Answer.HOLDS, bound=float(claim.upper.max()))
    if verdict.answer is Answer.UNKNOWN and search.exactness != "bounds":
        found.claims[number] = claim
        return
    found.verdicts[number] = verdict
    seconds = time.monotonic() - began
    found.decided.append(DecidedCheck(number, len(free), verdict.answer, by, seconds))


def _spread(count: int) -> Iterator[int]:
    """Yield the numbers below ``count``, each once, by halving the gaps between them in turns."""
    bits = max(count - 1, 0).bit_length()
    for number in range(2**bits):
        place = int(f"{number:0{bits}b}"[::-1], 2) if bits else 0
        if place < count:
            yield place
