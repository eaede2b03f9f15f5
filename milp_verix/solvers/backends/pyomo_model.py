"""Encodings as Pyomo blocks, to be put into a bigger model.

Pyomo is imported only when it is asked for.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from milp_verix.base.argument_kinds import checked, instance_of
from milp_verix.base.errors import InputError
from milp_verix.solvers.session import in_words
from verix_encodings import Encoding, Expressions, Program
from verix_encodings.arrays import dense


@checked(encoding=instance_of(Encoding))
def to_pyomo(encoding: Encoding) -> Any:
    """Return ``encoding`` as a concrete ``pyomo.environ.Block`` without an objective.

    Each column is a variable and each row a constraint of its readable name (``block.z_2_7``).
    ``block.input[i]`` and ``block.output[k]`` are the expressions of the encoding:

        >>> model = pyomo.environ.ConcreteModel()
        >>> model.check = milp_verix.to_pyomo(encoding)
        >>> model.worst = pyomo.environ.Objective(expr=model.check.output[0], sense=-1)

    Raises ``InputError`` without Pyomo, and for indicator and general constraints, which it lacks.
    """
    try:
        import pyomo.environ as pyo
    except ImportError as error:
        raise InputError(
            f"pyomo does not import ({error}): pip install 'milp-verix[pyomo]'"
        ) from error
    block, variables = program_block(pyo, encoding.program)
    for name, expressions in (("input", encoding.input), ("output", encoding.output)):
        sums = _sums(expressions, variables)
        block.add_component(
            name, pyo.Expression(range(len(sums)), initialize=dict(enumerate(sums)))
        )
    return block


def program_block(pyo: Any, program: Program, own: Sequence[Any] = ()) -> tuple[Any, list[Any]]:
    """Return ``program`` as a block of ``pyo``, which is ``pyomo.environ``, and its variables.

    ``own`` are variables of another block that stand for the first columns. Raises ``InputError``
    for indicator and general constraints.
    """
    if lacking := program.needs & {"indicator", "general"}:
        raise InputError(
            f"Pyomo has no {in_words(lacking)}: choose the formulation big_m, sos1 or partition"
        )
    block = pyo.Block(concrete=True)
    variables = [*own, *_add_variables(pyo, block, program, len(own))]
    _add_constraints(pyo, block, program, variables)
    return block, variables


def _add_variables(pyo: Any, block: Any, program: Program, first: int) -> list[Any]:
    variables = []
    for j, name in enumerate(program.column_names[first:], first):
        bounds = _limit(program.column_lower[j]), _limit(program.column_upper[j])
        domain = pyo.Reals
        if program.integer[j]:
            domain = pyo.Binary if bounds == (0.0, 1.0) else pyo.Integers
        variable = pyo.Var(domain=domain, bounds=bounds)
        block.add_component(name, variable)
        variables.append(variable)
    return variables


def _add_constraints(pyo: Any, block: Any, program: Program, variables: list[Any]) -> None:
    matrix = program.matrix
    for i, name in enumerate(program.row_names):
        entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
        body = _sum(matrix.data[entries], matrix.indices[entries], 0.0, variables)
        low, high = _limit(program.row_lower[i]), _limit(program.row_upper[i])
        block.add_component(name, pyo.Constraint(expr=(low, body, high)))
    for number, row in enumerate(program.quadratic_rows):
        squares = sum(variables[j] ** 2 for j in row.columns)
        block.add_component(f"quadratic_{number}", pyo.Constraint(expr=squares <= row.radius**2))
    for chosen in program.sos1:
        members = [variables[j] for j in chosen.columns]
        weights = list(range(1, len(members) + 1))
        constraint = pyo.SOSConstraint(rule=lambda _block, m=members, w=weights: (m, w), sos=1)
        block.add_component(chosen.name, constraint)


def _sums(expressions: Expressions, variables: list[Any]) -> list[Any]:
    found = []
    for index, constant in enumerate(expressions.constant):
        row = dense(expressions.matrix[[index], :]).reshape(-1)
        used = np.flatnonzero(row)
        found.append(_sum(row[used], expressions.columns[used], constant, variables))
    return found


def _sum(coefficients: Any, columns: Any, constant: float, variables: list[Any]) -> Any:
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(
        constant=float(constant),
        linear_coefs=[float(c) for c in coefficients],
        linear_vars=[variables[j] for j in columns],
    )


def _limit(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
