"""A program that is built after each constraint is the one that is built once, whoever goes on."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from tests.support.scenario_cases import drawn_constraints, drawn_perturbations, grown
from verix_encodings.arrays import FloatArray, IntArray
from verix_encodings.encoding import Constraint
from verix_encodings.program import Program, ProgramBuilder


def _assert_same(one: Program, other: Program) -> None:
    assert one.extends(other)
    assert other.extends(one)
    assert one.matrix.shape == other.matrix.shape
    assert one.row_names == other.row_names
    assert one.column_names == other.column_names


def _constraints(seed: int, tmp_path: Path) -> tuple[list[Constraint], np.random.Generator]:
    """Return scenarios and a cover."""
    rng = np.random.default_rng([seed, 71])
    constraints = drawn_constraints(rng, drawn_perturbations(rng, tmp_path))
    return constraints, rng


@pytest.mark.parametrize("seed", range(20))
def test_a_program_built_after_each_part(seed: int, tmp_path: Path) -> None:
    constraints, rng = _constraints(seed, tmp_path)
    growing = grown([])
    kept: list[tuple[Program, FloatArray]] = []
    for number, constraint in enumerate(constraints, start=1):
        growing.add(constraint)
        if rng.random() < 0.7:
            program = growing.build()
            _assert_same(program, grown(constraints[:number]).build())
            kept.append((program, program.matrix.toarray()))
    _assert_same(growing.build(), grown(constraints).build())
    _assert_same(growing.build(), growing.build())
    # those that there were stay as they were
    for program, entries in kept:
        assert growing.build().extends(program)
        assert np.array_equal(program.matrix.toarray(), entries)


class _Noted:
    """A builder, and all that it should hold, as dense rows."""

    def __init__(
        self,
        builder: ProgramBuilder,
        rows: tuple[tuple[IntArray, FloatArray], ...] = (),
        columns: int = 0,
    ) -> None:
        self.builder = builder
        self._rows = rows
        self._columns = columns

    def grow(self, rng: np.random.Generator) -> None:
        """Add some columns, or none, and some rows in vectors, arrays and sparse arrays."""
        if rng.random() < 0.6 or not self._columns:
            new = int(rng.integers(1, 4))
            self.builder.add_columns(f"v{self._columns}", np.arange(new), 0.0, 1.0)
            self._columns += new
        count = int(rng.integers(0, 4))
        terms, dense = [], np.zeros((count, self._columns))
        for kind in rng.permutation(3)[: int(rng.integers(1, 4))].tolist():
            # the same column may come twice, and entries may be zero
            columns = rng.integers(self._columns, size=count if kind == 0 else 3)
            matrix = rng.integers(-2, 3, (count, columns.size)).astype(float)
            if kind == 0:
                matrix = np.diag(np.diag(matrix))
            for row in range(count):
                np.add.at(dense[row], columns, matrix[row])
            forms = np.diag(matrix), matrix, sp.csr_array(matrix)
            terms.append((forms[kind], columns))
        self.builder.add_rows(f"r{len(self._rows)}", np.arange(count), terms, -1.0, 1.0)
        self._rows += tuple((np.arange(self._columns), row) for row in dense)

    def assert_built(self) -> None:
        """Assert that what is built is what was added, in canonical form."""
        program = self.builder.build()
        expected = np.zeros((len(self._rows), self._columns))
        for place, (columns, row) in enumerate(self._rows):
            expected[place, columns] = row
        assert program.matrix.shape == expected.shape
        assert (program.rows, program.columns) == expected.shape
        assert np.array_equal(program.matrix.toarray(), expected)
        assert program.matrix.nnz == np.count_nonzero(expected)
        fresh = sp.csr_array(expected)
        assert np.array_equal(program.matrix.indices, fresh.indices)
        assert np.array_equal(program.matrix.indptr, fresh.indptr)


@pytest.mark.parametrize("seed", range(60))
def test_rows_are_those_added_however_often_they_are_built(seed: int) -> None:
    rng = np.random.default_rng([seed, 72])
    noted = _Noted(ProgramBuilder())
    noted.assert_built()
    for _ in range(12):
        noted.grow(rng)
        if rng.random() < 0.4:
            noted.assert_built()
    noted.assert_built()
