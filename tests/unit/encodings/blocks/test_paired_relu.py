"""Rows between a ReLU in two runs hold exactly for all that it can take."""

from fractions import Fraction

import numpy as np
import pytest

from verix_encodings import Interval, ProgramBuilder
from verix_encodings.arrays import dense
from verix_encodings.blocks.input_ball import linf_ball
from verix_encodings.blocks.paired_relu import couple, relu_columns
from verix_encodings.blocks.relu import big_m_relu


def _pair(stable: bool) -> ProgramBuilder:
    """Return the columns of one neuron in two runs, of which the second may be active."""
    builder, one = ProgramBuilder(), np.zeros(1, dtype=np.intp)
    for run in (0, 1):
        for kind in "z" if stable and run else "zad":
            builder.add_columns(f"{kind}_{run}", one, -10.0, 10.0)
    return builder


@pytest.mark.parametrize("seed", range(20))
def test_columns_are_those_of_the_names(seed: int) -> None:
    rng = np.random.default_rng([seed, 46])
    builder = ProgramBuilder()
    x = linf_ball(builder, Interval(-np.ones(9), np.ones(9)))
    for run in (0, 1):
        ends = np.sort(rng.normal(size=(2, 9)), axis=0)
        big_m_relu(builder, str(run), x, Interval(*ends))
    further = builder.copy()
    big_m_relu(further, "2", x, Interval(-np.ones(9), np.ones(9)))
    neurons = rng.permutation(9)[:6]
    for each, runs in ((builder, 2), (further, 3)):
        place = {name: column for column, name in enumerate(each.build().column_names)}
        for run in range(3):
            found = relu_columns(each, str(run), neurons)
            for kind, columns in zip("zad", found, strict=True):
                named = [place.get(f"{kind}_{run}_{neuron}", -1) for neuron in neurons]
                assert columns.tolist() == named
            assert bool(np.any(found.argument >= 0)) == (run < runs)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_rows_hold_exactly_and_meet_both_ends(seed: int, stable: bool) -> None:
    rng = np.random.default_rng([seed, 42])
    low, high = np.sort(rng.normal(size=2) * 10.0 ** rng.integers(-9, 3, 2))
    builder, one = _pair(stable), np.zeros(1, dtype=np.intp)
    columns = relu_columns(builder, "0", one), relu_columns(builder, "1", one)
    couple(builder, "0", one, columns, Interval(np.array([low]), np.array([high])))
    program = builder.build()
    # an order of phases where there are two, and the difference has one sign
    assert program.rows == 1 + int(not stable and (low >= 0 or high <= 0))
    l, u, matrix = Fraction(low), Fraction(high), dense(program.matrix)
    nearest = np.inf
    for t in (l, u, (l + u) / 2, Fraction(0) if l < 0 < u else l):
        for z1 in (Fraction(0), -t, Fraction(rng.normal()), abs(Fraction(rng.normal())), t):
            if stable and z1 < 0:
                continue
            z = z1 + t
            runs = [[v, max(v, Fraction(0)), Fraction(int(v > 0))] for v in (z, z1)]
            values = runs[0] + (runs[1][:1] if stable else runs[1])
            for row, least, most in zip(matrix, program.row_lower, program.row_upper, strict=True):
                reached = sum((Fraction(c) * v for c, v in zip(row, values, strict=True)), l * 0)
                assert least == -np.inf or reached >= Fraction(least)
                if most < np.inf:
                    assert reached <= Fraction(most)
                    if t == u:
                        nearest = min(nearest, float(Fraction(most) - reached))
    assert nearest <= 1e-14 * (high - low)


@pytest.mark.parametrize("seed", range(60))
def test_a_narrower_range_cuts_off_what_is_true(seed: int) -> None:
    rng = np.random.default_rng([seed, 43])
    low, high = -float(rng.uniform(0.1, 3.0)), float(rng.uniform(0.1, 3.0))
    builder, one = _pair(False), np.zeros(1, dtype=np.intp)
    columns = relu_columns(builder, "0", one), relu_columns(builder, "1", one)
    couple(builder, "0", one, columns, Interval(np.array([low]), np.array([0.9 * high])))
    program = builder.build()
    point = np.array([high, high, 1.0, 0.0, 0.0, 0.0])
    assert np.any(program.matrix @ point > program.row_upper + 1e-3)
