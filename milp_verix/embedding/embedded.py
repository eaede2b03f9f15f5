"""The embedded network: the model's variables that belong to it, and what can be asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from milp_verix.base.arguments import FLAG, NUMBER, checked, detached, seconds_of
from milp_verix.base.errors import InputError, SolverError, same_names
from milp_verix.embedding.embedded_check import EmbeddedCheck, replayed
from milp_verix.embedding.host import Host, Solution, Solved
from milp_verix.embedding.sockets import Side, paired
from milp_verix.inputs.one_row import row_of
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.solvers import Targets, open_session
from verix_encodings import Bounds, Encoding
from verix_encodings.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """A network inside a model: :func:`milp_verix.embed` returns it.

    Attributes:
        network: the network.
        name: the prefix of its variables and rows in the model; in Pyomo the name of its block.
        inputs: the model's variables that are its inputs, in order; one that was added where an
            expression or a number was given.
        outputs: the model's variables that are its outputs, in order.
        bounds: intervals around all values of the network, the input's box first.
        rounding: the most by which a row may miss the network's values, by rounding of its numbers.
        notes: notes on what to mind when the model is solved.
        input_names: the names of the inputs, in order; None where none are known.
        output_names: the names of the classes that outputs are scores of, None likewise.
    """

    network: LoadedModel
    name: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    bounds: Bounds
    rounding: float
    notes: tuple[str, ...]
    input_names: tuple[str, ...] | None
    output_names: tuple[str, ...] | None
    _paired: tuple[tuple[str, ...], tuple[str, ...]]
    _host: Host
    _encoding: Encoding
    _variables: tuple[Any, ...]

    @property
    def model(self) -> Any:
        """The model that the network is in."""
        return self._host.model

    @property
    def phases(self) -> Mapping[str, Any]:
        """The binary variables by name, such as ``d_1_7``, the phase of ReLU 7 of node 1."""
        return self._added(integer=True)

    @property
    def neurons(self) -> Mapping[str, Any]:
        """The continuous variables by name: ``z_1_7`` and ``a_1_7`` for ReLU 7 of node 1.

        ``y_k`` and ``x_i`` are outputs and inputs that the model has no variables of its own for.
        """
        return self._added(integer=False)

    @property
    def binaries(self) -> int:
        """Number of binary variables."""
        return self._encoding.program.binaries

    @property
    def rows(self) -> int:
        """Number of rows; sets, implications and general constraints included."""
        program = self._encoding.program
        return program.rows + sum(map(len, (program.indicators, program.sos1, program.maxima)))

    @property
    def columns(self) -> int:
        """Number of variables that were added."""
        return len(self.phases) + len(self.neurons)

    @property
    def largest_big_m(self) -> float:
        """The largest constant that a binary is multiplied by, 0.0 without any."""
        return self._encoding.largest_big_m

    def remove(self) -> None:
        """Take the network's variables and rows out of the model.

        An objective or row of your own that has its outputs is yours to remove.
        """
        self._host.remove()

    def start(self, x: ArrayLike) -> FloatArray:
        """Let solvers begin with the input ``x``: set values of all variables; return the outputs.

        ``x`` is taken as by ``network.as_input``, in float64, and a row by the names of the inputs;
        further columns are left out. A variable of the model that an input expression contains is
        not set. Pyomo and PuLP pass the values on to solvers that are asked for a warm start.
        Raises ``InputError`` for an input outside the box, for other names, and for a model in
        memory that was fitted again.
        """
        self.network.require_unchanged()
        if (row := row_of(x)) is not None:
            side = Side("inputs", self.network.input_shape, self.input_names)
            own = same_names(self.input_names or (), row).values()
            complete = len(own) == self.network.input_size
            given = {label: row[label] for label in own} if complete else x
            x = [*paired(self._host, given, side).values()]
        self.network.as_input(x)
        point = np.asarray(detached(x), dtype=np.float64).reshape(-1)
        box = self.bounds[0]
        if outside := np.flatnonzero(~((point >= box.lower) & (point <= box.upper))).tolist():
            i = outside[0]
            name = self.input_names[i] if self.input_names else i
            raise InputError(
                f"input {name} is {point[i]:g}, outside its bounds {box.lower[i]:g} to "
                f"{box.upper[i]:g}: start inside them"
            )
        encoding = self._encoding
        program = encoding.program.with_bounds(encoding.input.columns, point, point)
        session = open_session("auto", needed=program.needs)
        try:
            session.load(program)
            found = session.minimise(np.zeros(program.columns), Targets()).point
        finally:
            session.close()
        if found is None:
            raise SolverError(f"{session.name} finds no values of the network at this input")
        found[program.integer] = np.round(found[program.integer])
        for variable, value in zip(self._variables, found.tolist(), strict=True):
            self._host.set_start(variable, value)
        return self.network.ir.evaluate(point)

    @checked(tolerance=NUMBER, repair=FLAG)
    def check(
        self, solution: Solution | None = None, *, repair: bool = False, tolerance: float = 1e-6
    ) -> EmbeddedCheck:
        """Replay a solution in the network's own runtime, and tell how far the outputs differ.

        Variables that were given by names are replayed as a row by these names.

        Args:
            solution: values by the model's variables, for Pyomo a ``ComponentMap``; by default
                those that the last solve left in the model. An input that no output depends on need
                not have one.
            repair: move inputs off thresholds of trees, to the side where the outputs are closest
                to the solution's. Without it the check tells which inputs that would move.
            tolerance: the most that each input may be moved by, in its own unit; by default the
                usual feasibility tolerance of solvers.

        Raises:
            InputError: a value is missing, or the tolerance is negative.
        """
        if not 0 <= tolerance < np.inf:
            raise InputError(f"tolerance is finite and not negative, got {tolerance!r}")
        box, read = self.bounds[0], self._encoding.program.matrix.tocsc()
        used = np.diff(read.indptr)[self._encoding.input.columns]
        inputs = self._values(0, solution, np.where(used, np.nan, box.lower).tolist())
        outputs = self._values(1, solution, [np.nan] * len(self.outputs))
        names = self.input_names or [f"input {i}" for i in range(len(inputs))]
        found = self.network, box, np.array(inputs), np.array(outputs)
        return replayed(*found, repair=repair, tolerance=float(tolerance), names=names)

    def solvers(self) -> list[str]:
        """Return names of installed solvers that take the model, as :meth:`solve` does."""
        return self._host.solvers()

    def solve(self, solver: str, time_limit: float | None = None) -> Solved:
        """Solve the model by a solver with its defaults; the solution stays in the model.

        ``solver`` is ``"highs"``, ``"cbc"``, ``"scip"`` or ``"gurobi"``, or a name that the library
        of the model has. ``time_limit`` is in seconds. The library's errors are its own.
        """
        return self._host.solve(solver, seconds_of(time_limit, "time_limit"))

    def _values(self, side: int, given: Solution | None, otherwise: list[float]) -> list[float]:
        """Return values of a side by its names, ``otherwise`` of variables without a value."""
        what, variables = (("input", self.inputs), ("output", self.outputs))[side]
        names = (self.input_names, self.output_names)[side] or ()
        labels = self._paired[side] or tuple(map(str, range(len(variables))))
        values: dict[str, float] = {}
        for label, variable, other in zip(labels, variables, otherwise, strict=True):
            try:
                value = self._host.value(variable, given)
            except KeyError as error:
                raise InputError(f"the solution lacks {error}, of {what} {label}") from error
            values[label] = other if np.isnan(value) else value
            if not np.isfinite(values[label]):
                raise InputError(
                    f"{what} {label} has no value: solve the model first, or give a solution"
                )
        return [values[name] for name in (names if {*names} == {*labels} else labels)]

    def _added(self, *, integer: bool) -> Mapping[str, Any]:
        program = self._encoding.program
        own = program.column_labels[0][1].size
        which = own + np.flatnonzero(program.integer[own:] == integer)
        names = program.column_names
        return MappingProxyType({names[j]: self._variables[j] for j in which.tolist()})

    def __repr__(self) -> str:
        return (
            f"Embedded({self.name!r}: {self.network.name}, {self.rows} rows, {self.columns} "
            f"variables, {self.binaries} of them binary, big-Ms up to {self.largest_big_m:.3g})"
        )
