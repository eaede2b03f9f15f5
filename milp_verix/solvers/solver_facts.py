"""Facts of a solver that its file in ``backends`` states once, beside the calls to its package.

They are the only place where :class:`~milp_verix.base.tolerances.Tolerances` become a solver's own
parameters, directly or behind PuLP or Pyomo; ``python docs/solver_tables.py`` writes the tables of
``docs/solvers.md`` from them. Gaps are zero, presolve, cuts and heuristics off: on the programs of
checks this is several times faster than the defaults.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from milp_verix.base.tolerances import Tolerances

Parameters = dict[str, Any]
Values = tuple[int, int] | tuple[float, float] | tuple[str, ...]
"""The values of an option: whole numbers or numbers between two ends, or words."""


SWITCHES = ("presolve", "cuts", "heuristics")
"""Words that are on and off: at the value that a solver is shipped with, and at ours."""


def words(text: str) -> dict[str, str]:
    """Return words that solvers share, and options for each: ``"gap MIPGap, cuts Cuts"``."""
    return dict(entry.split(" ", 1) for entry in text.split(", "))


@dataclass(frozen=True, eq=False)
class SolverFacts:
    """A solver's parameters, the options of its name, and limits within which it is trusted.

    ``ours`` are parameters that we set, each beside the value that the solver is shipped with;
    ``always`` are more of these, which a session sets with shipped parameters, too; ``balls`` those
    for programs with an L2 ball, unless a name sets them; ``tolerances`` has those that ours
    become. The number of threads is passed on from ``least_threads`` on.

    ``options`` are those that a name may set, and ``words`` what it may call them. ``suffix`` is
    that of files of parameters which the solver writes itself.

    The licence that comes with its package ends at ``free``, if anywhere. Its proofs are trusted up
    to big-Ms of ``largest_big_m`` and coefficients of ``largest_coefficient``, over ``partition``
    formulations or not; entries of up to ``dropped`` are not kept in its matrix. If it calls a
    program with the row ``c·v ≤ t`` infeasible, costs are at least ``t − slack · max(1, |t|)``.
    ``proofs`` says what all of them rest on.
    """

    name: str
    licence: str
    free: str = ""
    tolerances: Callable[[Tolerances], Parameters] = lambda _tolerances: {}
    ours: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    always: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    balls: Parameters = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, Values] = field(default_factory=dict)
    suffix: str = ""
    least_threads: int = 1
    largest_big_m: float = 1e4
    largest_coefficient: float = 1e15
    partition: bool = True
    dropped: float = 1e-9
    slack: float = 1e-7
    proofs: str = "its dual bound"

    @property
    def of_ours(self) -> tuple[str, ...]:
        """Words for options of ours, which no solver needs to know."""
        return ("time", "log", "strict", "parameters") if self.options else ("time", "strict")

    def usual(self, threads: int, tolerances: Tolerances) -> Parameters:
        """Return the parameters that we set."""
        chosen = {name: value for name, (value, _) in self.ours.items()}
        return self.tolerances(tolerances) | chosen | self.shipped(threads)

    def shipped(self, threads: int) -> Parameters:
        """Return the parameters that are set where all others stay as shipped."""
        values = {name: value for name, (value, _) in self.always.items()}
        if (name := self.words.get("threads")) and threads >= self.least_threads:
            values[name] = min(threads, self.options[name][-1])
        return values

    def switched(self, word: str, text: str) -> Parameters:
        """Return the options that a ``word`` turns ``"off"`` or ``"on"``, if it is one for that."""
        if word not in SWITCHES or text not in ("off", "on"):
            return {}
        return {
            name: text
            if text in self.options[name]
            else self.ours.get(name, (False, True))[text == "on"]
            for name in self.words.get(word, "").split()
        }


def floored(least: float, feasibility: str, integrality: str) -> Callable[[Tolerances], Parameters]:
    """Return the function from tolerances, no less than ``least``, to parameters of these names."""
    return lambda tolerances: {
        **dict.fromkeys(feasibility.split(), max(tolerances.feasibility, least)),
        **dict.fromkeys(integrality.split(), max(tolerances.integrality, least)),
    }


def settable(text: str) -> dict[str, Values]:
    """Return options and their values from a text such as ``"Cuts -1 to 3, presolve off or on"``.

    Numbers with a point are of options that take more than whole numbers.
    """
    found: dict[str, Values] = {}
    for entry in text.split(", "):
        name, _, values = entry.partition(" ")
        kind = float if "." in values else int
        ends = values.split(" to ")
        found[name] = (kind(ends[0]), kind(ends[1])) if ends[1:] else tuple(values.split(" or "))
    return found


UNKNOWN = SolverFacts(
    "unknown",
    "its own",
    # tolerances of 1e-6, as most solvers have them, and nothing better known
    largest_big_m=50.0,
    largest_coefficient=1e9,
    slack=2e-6,
    partition=False,
)


def notes_on(name: str, options: Parameters, distrust: str | None) -> tuple[str, ...]:
    """Return notes for readers of a result: a user's own options, and why proofs are lacking."""
    notes = () if distrust is None else (distrust,)
    if not options:
        return notes
    given = ", ".join(f"{option}={value}" for option, value in options.items())
    note = f"{name.partition('?')[0]} was run with options of the user's own: {given}"
    return (note, *notes)
