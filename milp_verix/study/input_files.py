"""The inputs of a study in files: arrays with bytes scaled, tables, or a folder of pictures."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from milp_verix.base.errors import InputError
from milp_verix.base.image_shape import Shape
from milp_verix.inputs.input_files import (
    PICTURES,
    decoded_note,
    read_input,
    scale_bytes,
    scaled_note,
)
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.problem.ball import UNIT_DOMAIN, Domain
from milp_verix.study.inputs import Inputs, inputs_of, names_of

_MOST_TRIED = 100


def stored_inputs(
    source: str, network: LoadedModel, columns: Sequence[str] | None, options: Mapping[str, Any]
) -> Inputs:
    """Return the inputs that ``source`` names; a note tells where bytes are scaled to the domain.

    ``columns`` are those chosen of a table, ``options`` those of the question. The pictures of a
    folder are sorted by name. Raises ``InputError``.
    """
    domain = options.get("domain", UNIT_DOMAIN)
    if Path(source).is_dir():
        given = _pictures(Path(source), network, options.get("image_shape"))
    else:
        given = inputs_of(source, network.input_size, columns, names_of(network, options))
    scales = _scales(domain)
    scaled = (scaled_note(domain),) if scales and _are_bytes(given) else ()

    def read(index: int) -> NDArray[Any]:
        x = given.read(index)
        return scale_bytes(x, domain, network.dtype) if scales else x

    def notes(index: int) -> tuple[str, ...]:
        decoded = decoded_note(given.name(index) or "")
        return () if decoded is None else (decoded,)

    return replace(given, read=read, notes=notes, told=(*given.told, *scaled))


def _pictures(folder: Path, network: LoadedModel, image_shape: Shape | None) -> Inputs:
    suffixes = {f".{suffix}" for suffix in PICTURES}
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in suffixes)
    if not files:
        raise InputError(f"{folder} holds no pictures: {', '.join(sorted(suffixes))}")
    return Inputs(
        len(files),
        lambda i: read_input(str(files[i]), network.input_shape, image_shape),
        lambda i: files[i].name,
        place=lambda i: files[i].name,
    )


def _scales(domain: Domain) -> bool:
    """Return whether the domain has two finite ends; one for each coordinate is none."""
    try:
        low, high = map(float, domain)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return bool(np.isfinite([low, high]).all())


def _are_bytes(given: Inputs) -> bool:
    """Return whether the inputs are bytes: the first that can be read tells."""
    for index in range(min(given.count, _MOST_TRIED)):
        with suppress(InputError):
            return given.read(index).dtype == np.uint8
    return False
