"""A study as a TOML file: networks, inputs, settings, and the journal.

Paths are relative to the file. Each table ``[[study]]`` is a part of the study; keys beside these
tables hold for all parts, and those of a part replace them.
"""

import tomllib
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from milp_verix.base.arguments import checked, path_of, radius_in
from milp_verix.base.errors import InputError, meant, refusing
from milp_verix.base.image_shape import image_shape_of
from milp_verix.base.tolerances import tolerances_of
from milp_verix.inputs.input_files import read_numbers
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.models.onnx.onnx_network import load_network
from milp_verix.problem.option_rows import rows_of
from milp_verix.study.study_inputs import stored_inputs
from milp_verix.study.study_run import Part, Tally, part_of, run_parts
from milp_verix.study.tasks import LIMITS

_NETWORKS = ("model", "models")
_QUESTION = (*_NETWORKS, "xs", "columns", "inputs", "indices", "epsilon", "task", "grid")
_READING = ("input_shape", "output_name", "options")
_COURSE = ("journal", "results", "workers", "scheduler", "retry", "fsync")
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a text"),
    "models": ((list,), "a list of ONNX files"),
    "xs": ((str,), "a text"),
    "columns": ((list,), "a list of names"),
    "inputs": ((str,), "a .json or .toml file"),
    "indices": ((str, list), "a text such as '0:100', or a list"),
    "task": ((str, list), "a name, or a list of names"),
    "output_name": ((str,), "a text"),
    "grid": ((dict,), "a table, [grid]"),
    "options": ((dict,), "a table, [options]"),
    "journal": ((str,), "a text"),
    "results": ((str, bool), "a folder, true or false"),
    "scheduler": ((str,), "an address, such as 'tcp://host:8786'"),
    "retry": ((str, list), "a name, or a list of names"),
    "fsync": ((bool,), "true or false"),
}
_FROM_FILES = {
    row.name
    for row in rows_of("many")
    if row.line is not None and row.line.reads in ("groups", "names", "numbers", "order")
}
"""Options whose numbers may be in a .npy or .json file."""

OVERRIDES = (*_COURSE, "indices", *LIMITS)
"""Keys of a file that arguments of :func:`run_study` replace."""


@checked()
def run_study(
    path: str | Path,
    *,
    progress: Callable[[Tally], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    client: Any = None,
    **given: Any,
) -> Tally:
    """Do the study that the TOML file ``path`` describes, as :func:`milp_verix.explain_many` does.

    Networks are ONNX files, ``xs`` what INPUTS of ``milp-verix batch`` may be: bytes are scaled to
    the domain, and a folder holds pictures. The journal is ``STUDY.jsonl`` beside ``STUDY.toml``
    where the file names none.

    Args:
        path: the file. Its keys are ``model`` or ``models``, ``xs``, ``columns``,
            ``inputs``, ``indices``, ``epsilon``, ``task``, the tables ``grid`` and ``options``
            with arguments of the single functions, ``input_shape`` and ``output_name`` of the
            networks; and ``journal``, ``results``, ``workers``, ``scheduler``, ``retry`` and
            ``fsync``. Several parts are tables ``[[study]]``.
        progress: called with a :class:`Tally` at the start and after each record.
        warn: called with a text for each line of the journal that is no record, and where records
            stand twice or are by several versions.
        client: a ``dask.distributed.Client``, in the place of ``scheduler``.
        **given: ``journal``, ``results``, ``workers``, ``scheduler``, ``retry``, ``fsync``,
            ``indices``, ``time_limit``, ``check_time_limit`` and ``memory`` replace those of the
            file. Paths among them are relative to the working directory.

    Raises:
        InputError: the file cannot be read, has an unknown key, or an argument does not fit.
        ModelError: a network cannot be read.
        SolverUnavailableError: the solver is not installed.
    """
    parts, course = study_in(path_of(path, "path"), given)
    return run_parts(parts, **course, client=client, progress=progress, warn=warn)


def study_in(path: Path, given: Mapping[str, Any]) -> tuple[list[Part], dict[str, Any]]:
    """Return the parts in a file, and arguments of ``run_parts``; ``given`` replaces keys."""
    _refuse_unknown(given, OVERRIDES, "run_study")
    content = _read(path)
    _refuse_kinds(content, str(path))
    course = {name: content.pop(name) for name in _COURSE if name in content}
    parts = [part for keys in _tables(path, content) for part in _parts(path, keys, given)]
    for name in ("journal", "results"):
        if isinstance(course.get(name), str):
            course[name] = path.parent / course[name]
    course = {"journal": path.with_suffix(".jsonl"), **course}
    course |= {name: value for name, value in given.items() if name in _COURSE}
    return parts, {**course, "journal": Path(course["journal"])}


def _read(path: Path) -> dict[str, Any]:
    with refusing(f"cannot read {path}"), refusing(f"{path} is no TOML file", ValueError):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    if where := _null_in(content, ""):
        raise InputError(f"{path}: {where} has a null character, which no name or path has")
    return content


def _null_in(value: Any, where: str) -> str | None:
    """Return the key in ``value`` whose text has a null character, None if there is none."""
    if isinstance(value, dict):
        inner = [(f"{where}.{key}" if where else key, entry) for key, entry in value.items()]
    elif isinstance(value, list):
        inner = [(f"{where}[{place}]", entry) for place, entry in enumerate(value)]
    else:
        return where if isinstance(value, str) and "\0" in value else None
    return next((found for name, entry in inner if (found := _null_in(entry, name))), None)


def _tables(path: Path, content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the keys of each part, those for all parts included."""
    tables = content.pop("study", [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise InputError(f"{path}: a part of the study is a table [[study]], in two brackets")
    for number, own in enumerate(tables, start=1):
        where = str(path) if tables == [{}] else f"{path}, [[study]] {number}"
        named = "model" in own or "models" in own  # these take the place of those for all parts
        shared = {name: content[name] for name in content if not (named and name in _NETWORKS)}
        keys = {**shared, **own}
        _refuse_kinds(own, where)
        _refuse_unknown(keys, (*_QUESTION, *_READING), where, *_COURSE, "study")
        for name in ("grid", "options"):
            keys[name] = {**content.get(name, {}), **own.get(name, {})}
        if ("model" in keys) == ("models" in keys):
            raise InputError(f"{where}: name one network by model, or several by models")
        if keys.get("models") == []:
            raise InputError(f"{where}: models names no network")
        missing = [name for name in ("xs", "epsilon") if name not in keys]
        if missing:
            raise InputError(f"{where}: {' and '.join(missing)} must be given")
        yield keys


def _parts(path: Path, keys: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Part]:
    """Yield a part of the study for each network of a table."""
    models = keys["models"] if "models" in keys else [keys["model"]]
    for model in map(str, models):
        network = load_network(
            path.parent / model, input_shape=keys.get("input_shape"), output=keys.get("output_name")
        )
        options = {
            name: _from_file(path, name, value, network) for name, value in keys["options"].items()
        }
        options |= {name: given[name] for name in LIMITS if name in given}
        if "tolerances" in options:
            options["tolerances"] = tolerances_of(options["tolerances"])
        shape = image_shape_of(options.get("image_shape"), network.input_shape)
        if shape is not None:
            options["image_shape"] = shape
        grid = {
            name: [_from_file(path, name, value, network) for value in _list(path, name, values)]
            for name, values in keys["grid"].items()
        }
        if "tolerances" in grid:
            grid["tolerances"] = list(map(tolerances_of, grid["tolerances"]))
        if {"domain", "image_shape"} & set(grid):
            raise InputError(f"{path}: domain and image_shape stand in options, not in the grid")
        xs: Any = str(path.parent / keys["xs"])
        described = path.parent / keys["inputs"] if "inputs" in keys else None
        columns = keys.get("columns")
        if described is None:
            xs = stored_inputs(xs, network, columns, options)
            columns = None
        radii = keys["epsilon"] if isinstance(keys["epsilon"], list) else [keys["epsilon"]]
        with refusing(f"{path}: epsilon", InputError):
            radii = [_radius(path, one, network) for one in radii]
        yield part_of(
            network,
            xs,
            epsilon=radii,
            task=keys.get("task", "explain"),
            grid=grid,
            indices=given.get("indices", keys.get("indices")),
            columns=columns,
            inputs=described,
            options=options,
        )


def _refuse_unknown(
    keys: Collection[str], known: Collection[str], where: str, *others: str
) -> None:
    unknown = [key for key in keys if key not in known]
    if unknown:
        raise InputError(
            f"{where}: unknown key {unknown[0]!r}; the known ones are "
            f"{', '.join((*known, *others))}{meant(unknown[0], known)}"
        )


def _refuse_kinds(keys: Mapping[str, Any], where: str) -> None:
    for name, (kinds, text) in _KINDS.items():
        if name in keys and not isinstance(keys[name], kinds):
            raise InputError(f"{where}: {name} is {text}, got {keys[name]!r}")


def _list(path: Path, name: str, values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise InputError(f"{path}: {name} in the grid is a list of values, got {values!r}")
    return values


def _radius(path: Path, given: Any, network: LoadedModel) -> Any:
    """Return a radius, radii by name, or those in a file."""
    found = _read_file(path, given, network)
    return radius_in(given) if found is given and not isinstance(given, dict | list) else found


def _from_file(path: Path, name: str, value: Any, network: LoadedModel) -> Any:
    """Return the value of an option, read where it names a file."""
    return _read_file(path, value, network) if name in _FROM_FILES else value


def _read_file(path: Path, value: Any, network: LoadedModel) -> Any:
    is_file = isinstance(value, str) and Path(value).suffix in (".npy", ".json")
    return read_numbers(path.parent / value, network.input_size) if is_file else value
