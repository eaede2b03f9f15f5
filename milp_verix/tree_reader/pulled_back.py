"""Conditions of trees on numbers that were computed from an input, as conditions on the input."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from milp_verix.tree_reader.branching import Branching, Sides, Words, beyond
from milp_verix.tree_reader.table_columns import TableColumns
from verix_encodings.arrays import BoolArray, FloatArray


class Conditions:
    """The conditions of all trees on the numbers of the steps, as conditions on columns."""

    def __init__(
        self,
        columns: TableColumns,
        stored: Sequence[Branching],
        missing: Mapping[int, float] | None = None,
    ) -> None:
        """``missing`` has the last number of coordinates that may be missing."""
        self._columns, self._stored, self._missing = columns, stored, missing or {}
        self._of_missing = columns.of_missing([*self._missing])
        self._words: dict[int, FloatArray] = {}
        self._plain: dict[tuple[int, float, bool], tuple[int, Sides | Words]] = {}
        pairs = {
            (int(output), float(end))
            for tree in stored
            for output, end in _ends_of(tree)
            if self._is_number(int(output))
        }
        listed = sorted(pairs)
        found = columns.crossings(
            [output for output, _ in listed], np.array([end for _, end in listed])
        )
        self._crossings = dict(zip(listed, found, strict=True))

    def trees(self) -> list[Branching]:
        """Return the trees with conditions on coordinates."""
        return [self._tree(tree) for tree in self._stored]

    def _is_number(self, output: int) -> bool:
        place = self._columns.column_of(output)
        return place is not None and self._columns.encoding.columns[place].form == "number"

    def _tree(self, tree: Branching) -> Branching:
        feature, threshold = np.array(tree.feature), np.array(tree.threshold)
        left, right = np.array(tree.left), np.array(tree.right)
        sides: dict[int, Sides | Words] = {}
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            old = tree.sides.get(node)
            assert not isinstance(old, Words)
            key = int(feature[node]), float(threshold[node]), bool(tree.missing_left[node])
            if old is not None:
                coordinate, new = self._condition(*key, old)
            else:
                if key not in self._plain:
                    self._plain[key] = self._condition(*key, None)
                coordinate, new = self._plain[key]
            feature[node] = coordinate
            if isinstance(new, Sides) and new.ends.size == 1 and new.left[0] != new.left[1]:
                threshold[node] = new.ends[0]
                if new.left[1]:
                    left[node], right[node] = right[node], left[node]
            else:
                sides[node] = new
        return replace(
            tree, feature=feature, threshold=threshold, left=left, right=right, sides=sides
        )

    def _condition(
        self, output: int, threshold: float, missing_left: bool, old: Sides | None
    ) -> tuple[int, Sides | Words]:
        """Return the coordinate and the sides of a condition on ``z_output``."""
        columns = self._columns
        place = columns.column_of(output)
        if place is None:
            z = columns.constants[output : output + 1]
            still = Sides(np.zeros(0), goes_left(z, threshold, old, missing_left))
            for start, found in self._of_missing.items():
                if found[output] != z[0]:  # the steps mark missing values in it
                    left = goes_left(found[[output]], threshold, old, missing_left)
                    return start, beyond(still, self._missing[start], bool(left[0]))
            return 0, still
        column, start = columns.encoding.columns[place], columns.starts[place]
        if column.form == "number":
            sides = self._of_number(output, threshold, old)
            if start in self._missing:
                z = self._of_missing[start][output : output + 1]
                left = goes_left(z, threshold, old, missing_left)
                sides = beyond(sides, self._missing[start], bool(left[0]))
            return start, sides
        if place not in self._words:
            self._words[place] = columns.of_words(place)
        goes = goes_left(self._words[place][:, output], threshold, old, missing_left)
        if column.form != "block":
            return start, _merged(np.arange(len(goes) - 1.0) + 0.5, goes)
        if goes.sum() in (1, goes.size - 1):
            alone = bool(goes.sum() == 1)
            chosen = start + int(np.argmax(goes == alone))
            return chosen, Sides(np.array([0.5]), np.array([not alone, alone]))
        return start, Words(start, goes)

    def _of_number(self, output: int, threshold: float, old: Sides | None) -> Sides:
        ends = np.array([threshold]) if old is None else old.ends
        left = np.array([True, False]) if old is None else old.left
        if not ends.size:
            return Sides(ends, left)
        crossings = [self._crossings[output, float(end)] for end in ends]
        found = np.array([crossing.end for crossing in crossings])
        return _merged(found, left) if crossings[0].rising else _merged(found[::-1], left[::-1])


def _ends_of(tree: Branching) -> set[tuple[int, float]]:
    found = set()
    for node in np.flatnonzero(tree.feature >= 0).tolist():
        sides = tree.sides.get(node)
        ends = [tree.threshold[node]] if not isinstance(sides, Sides) else sides.ends
        found |= {(int(tree.feature[node]), float(end)) for end in ends}
    return found


def goes_left(
    z: FloatArray, threshold: float, old: Sides | None, missing_left: bool = False
) -> BoolArray:
    """Return whether ``z <= threshold``, or by the sides ``old``; ``missing_left`` for NaN."""
    known = z <= threshold
    if old is not None:
        known = old.left[np.searchsorted(old.ends, z, side="left")]
    return np.where(np.isnan(z), missing_left, known)


def _merged(ends: FloatArray, left: BoolArray) -> Sides:
    """Return the sides without ends at which nothing changes, and without empty intervals."""
    real = np.concatenate([ends > np.concatenate([[-np.inf], ends[:-1]]), [True]])
    ends, left = ends[real[:-1]], left[real]
    # an interval that ends at infinity is the last one
    last = np.searchsorted(ends, np.inf, side="left")
    ends, left = ends[:last], left[: last + 1]
    changes = left[1:] != left[:-1]
    return Sides(ends[changes], np.concatenate([left[:-1][changes], left[-1:]]))
