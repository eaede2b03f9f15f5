"""What options name as files: numbers, names, groups, orders and sets of features."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from milp_verix.base.errors import InputError, refusing
from milp_verix.base.names import meant
from milp_verix.base.stored_numbers import json_in
from milp_verix.inputs.input_files import read_numbers, read_texts
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.results.explanation import Explanation
from milp_verix.searches.explain.order import ORDERS


def numbers_in(file: str, option: str, network: LoadedModel, known: Collection[str] = ()) -> Any:
    """Return the numbers in a .npy or .json file, for an option that takes a ``known`` name, too.

    No option takes more than a number for each coordinate of the network's input.
    """
    if Path(file).suffix in (".npy", ".json"):
        with refusing(option, InputError):
            return read_numbers(Path(file), network.input_size)
    either = f"{', '.join(known)} or " if known else ""
    raise InputError(f"{option} is {either}a .npy or .json file, got {file!r}{meant(file, known)}")


def names_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return the texts in a file."""
    if given.lower().endswith(".json"):
        return numbers_in(given, option, network)
    return read_texts(given, network.input_size)


def order_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return the name of an order, or the list in a file."""
    return given if given in ORDERS else numbers_in(given, option, network, tuple(ORDERS))


def groups_in(given: str, option: str, network: LoadedModel) -> Any:
    """Return ``"pixels"``, or the groups of features in a file."""
    return given if given == "pixels" else numbers_in(given, option, network, ("pixels",))


def set_in(file: str, option: str, network: LoadedModel) -> Any:
    """Return the set in a file: indices, a mask, or the explanation that milp-verix wrote."""
    path = Path(file)
    if ".json" not in path.suffixes[-2:]:
        return numbers_in(file, option, network)
    with refusing(f"{option}: cannot read {path}", OSError, ValueError):
        content = json_in(path)
    if isinstance(content, dict) and not all(value in (True, False) for value in content.values()):
        return Explanation.from_json(json.dumps(content))
    if not isinstance(content, list | dict):
        raise InputError(
            f"{option}: {path} holds {content!r:.40}, expected a list of feature indices, a "
            "mask, or a result of milp-verix"
        )
    return content
