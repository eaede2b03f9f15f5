"""The L∞ ball as columns.

    x'_i ∈ [x_i − ε, x_i + ε] ∩ [domain_i]   for i free       one column with these bounds
    x'_i = x_i                               for i fixed      a constant, no column

The intersection is a box; it arrives here as an :class:`~verix_encodings.bounds.Interval` whose
two ends coincide where the coordinate is fixed.
"""

import numpy as np
import scipy.sparse as sp

from verix_encodings.bounds import Interval
from verix_encodings.program import Expressions, ProgramBuilder


def linf_ball(builder: ProgramBuilder, box: Interval) -> Expressions:
    """Add the columns ``x_i`` of the free coordinates; return the input as expressions in them."""
    free = np.flatnonzero(box.lower < box.upper)
    columns = builder.add_columns("x", free, box.lower[free], box.upper[free])
    selection = sp.csr_array(
        (np.ones(free.size), (free, np.arange(free.size))), shape=(box.lower.size, free.size)
    )
    constant = box.lower.copy()
    constant[free] = 0.0
    return Expressions(columns, selection, constant)
