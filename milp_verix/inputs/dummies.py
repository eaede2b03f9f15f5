"""One-hot columns of a table, such as ``pandas.get_dummies`` makes, as one feature each block.

The column for the word ``female`` of ``sex`` is named ``sex_female``, or with another separator.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from milp_verix.errors import InputError
from milp_verix.inputs.cells import number_in_cell, plain_cell
from milp_verix.inputs.features import Feature
from milp_verix.inputs.names import listed, same_names, shown

SEPARATORS = ("_", "=", ".", ":", "-")
"""Signs between a prefix and a word: ``prefix_sep`` of pandas, and ``=`` of fitted pipelines."""


def block_names(feature: Feature, given: Collection[str]) -> list[str]:
    """Return a name for each word of a block, with the separator that most columns ``given`` have.

    Raises ``InputError`` where all words have columns with two separators.
    """
    blocks = [[f"{feature.name}{sign}{word}" for word in feature.values] for sign in SEPARATORS]
    counts = [len(same_names(names, given)) for names in blocks]
    if counts.count(len(feature.values)) > 1:
        raise InputError(
            f"{feature.name} has several columns for each word, such as "
            f"{listed([names[0] for names in blocks if names[0] in given])}: drop all but one block"
        )
    return blocks[counts.index(max(counts))]


def columns_of(features: Sequence[Feature], given: Collection[str]) -> dict[str, list[str]]:
    """Return the columns among those ``given`` that hold each feature, by the feature's name.

    They are the feature's own column, or those of its block, one for each word; a feature that has
    neither is left out. Raises ``InputError`` where two columns may be meant.
    """
    own = same_names([feature.name for feature in features], given)
    found = {name: [column] for name, column in own.items()}
    for feature in features:
        if feature.one_hot and feature.name not in own:
            same = same_names(block_names(feature, given), given)
            if len(same) == len(feature.values):
                found[feature.name] = [*same.values()]
    return found


def cell_of(feature: Feature, columns: Sequence[str], cells: Sequence[Any]) -> Any:
    """Return the feature's cell in a row: its own, or the word whose column has the one 1.

    ``columns`` are those that :func:`columns_of` returns, with their ``cells``. Raises
    ``InputError`` for a block that has not one 1, and 0 elsewhere.
    """
    if not feature.one_hot or same_names([feature.name], columns):
        return cells[0]
    pairs = [(name, plain_cell(name, cell)) for name, cell in zip(columns, cells, strict=True)]
    numbers = [number_in_cell(name, cell, text=True, truth=True) for name, cell in pairs]
    if sorted(numbers) != [*[0.0] * (len(numbers) - 1), 1.0]:
        told = ", ".join(f"{name} is {shown(cell)}" for name, cell in pairs)
        raise InputError(f"{told}, expected one 1 among these columns of {feature.name}, else 0")
    return feature.values[numbers.index(1.0)]


def blocks_in(frame: Any, prefixes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the words of the one-hot columns of ``frame``, by their names, for each prefix.

    A prefix that is a column of its own has none, and so has one that no column has. Raises
    ``InputError`` for a column with two of the prefixes, for a prefix of a block that is a column,
    too, and for a row that has not one 1 in a block.
    """
    found, owners = dict[str, dict[str, str]](), dict[str, str]()
    for prefix in prefixes:
        signs = [sign for sign in SEPARATORS if _words(frame, prefix, sign)]
        block = {name: word for sign in signs for name, word in _words(frame, prefix, sign).items()}
        told = f"the columns {listed(block, 5)}"
        if prefix in frame.columns:
            if len(block) > 1 and not _wrong_row(frame, block):
                raise InputError(
                    f"{prefix} is a column, and {told} are a block of it, too: drop one of them"
                )
        elif len(block) == 1:
            raise InputError(
                f"{prefix} has the column {listed(block)} alone: a block has one for each word "
                "(get_dummies without drop_first); without one_hot that column is binary"
            )
        elif block:
            shared = next((name for name in block if name in owners), None)
            wrong = _wrong_row(frame, block)
            if len(signs) > 1:
                wrong = f"have the separators {' and '.join(signs)}: rename or drop some of them"
            elif shared is not None:
                wrong = f"are not those of {owners[shared]} alone: rename {shared}"
            if wrong:
                raise InputError(f"{told} with the prefix {prefix} {wrong}")
            found[prefix] = block
            owners.update(dict.fromkeys(block, prefix))
    return found


def _words(frame: Any, prefix: str, sign: str) -> dict[str, str]:
    before = f"{prefix}{sign}"
    names = [name for name in frame.columns if name.startswith(before) and name != before]
    return {name: name[len(before) :] for name in names}


def _wrong_row(frame: Any, block: Collection[str]) -> str:
    """Return what is wrong with a row of a block, as the end of a sentence; "" if nothing is."""
    table = frame[[*block]]
    ones = (table == 1).to_numpy(bool)
    others = ~(ones | (table == 0).to_numpy(bool))
    wrong = others.any(axis=1) | (ones.sum(axis=1) != 1)
    if not wrong.any():
        return ""
    row = int(np.argmax(wrong))
    if others[row].any():
        seen = f"the value {shown(table.iloc[row, int(np.argmax(others[row]))])}"
    else:
        seen = f"{int(ones[row].sum())} ones"
    return (
        f"are no block: the row {frame.index[row]!r} has {seen}, expected one 1 and else 0; "
        "get_dummies without drop_first, and with a word for missing values, makes such rows"
    )
