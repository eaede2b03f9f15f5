"""A library of instances, a folder like MIPLIB's: programs of checks, and what is proven of them.

    NAME.mps.gz         minimise cost·v; the margin is a constant minus the cost
    manifest.csv        a line for each instance
    milp-verix.solu     what is proven, in MIPLIB's format
    milp-verix.test     the names of the files
    models/             the models, inputs and checks that the instances are made of

An optimum stands as ``=opt=`` where two solvers proved it; what one solver alone proves, or bounds,
stand as ``=best=`` and ``=bestdual=``. A library that was interrupted goes on: an instance stays
if its file is the one in the manifest, by this version, and two solvers have proved it, or the same
solvers have had as many seconds for it.
"""

import csv
import gzip
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import milp_verix
from milp_verix.base.errors import InputError, refusing, require_one_of
from milp_verix.base.files import write_atomically
from milp_verix.base.number_text import counted
from milp_verix.comparison.compare import write_checks
from milp_verix.comparison.exported import rivals_of
from milp_verix.comparison.generated_models import Generated
from milp_verix.comparison.instance_sources import CATALOGUE, SHIPPED, SIZES, Source
from milp_verix.comparison.proofs import PROVERS, SolverProof, two_proofs
from milp_verix.comparison.timed_solver import size_of
from milp_verix.oracle.check_program import encode_problem
from milp_verix.problem.problem import ProblemData
from milp_verix.problem.search import Search
from milp_verix.results.comparison_files import written_as_csv
from milp_verix.solvers import SOLVERS
from verix_encodings import Program
from verix_encodings.arrays import FloatArray

_README = Path(__file__).with_name("instances.md")
_DISPUTED = "disputed"
_EASY = 0.1
"""An instance is easy if one solver proves it within this part of the time limit."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A line of the manifest; see ``README.md`` of a library for what the columns mean."""

    name: str
    file: str
    size: str
    kind: str
    sha256: str
    digest: str
    source: str
    source_sha256: str
    generated: str
    epsilon: float
    norm: str
    delta: float | None
    check: int
    rival: int
    free: int
    formulation: str
    constant: float
    columns: int
    rows: int
    binaries: int
    nonzeros: int
    hardness: str = "open"
    optimum: float | None = None
    best: float | None = None
    bound: float | None = None
    proved_by: str = ""
    not_run: str = ""
    asked: str = ""
    time_limit: float = 0.0
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """The ``instances`` of a folder, and ``remarks`` on what is missing."""

    instances: tuple[Instance, ...]
    remarks: tuple[str, ...] = ()

    @property
    def disputed(self) -> tuple[str, ...]:
        """Names of instances of which two solvers claim to have proved different optima."""
        return tuple(one.name for one in self.instances if one.hardness == _DISPUTED)


def make_library(
    folder: Path,
    sizes: Sequence[str] = SIZES,
    time_limit: float = 60.0,
    progress: Callable[[str], None] = lambda _: None,
) -> Library:
    """Write the instances of ``sizes`` to ``folder``, and prove what two solvers can.

    ``time_limit`` is that of each solve, in seconds; with 0 nothing is solved. ``progress`` gets
    the name of each instance that is made. Instances of other sizes that are there stay. Raises
    ``InputError`` for an unknown size, and for files that are in the way.
    """
    for size in sizes:
        require_one_of(SIZES, size, "size")
    if not sizes or not 0 <= time_limit < np.inf:
        raise InputError(f"give a size, and a number of seconds from 0 on, got {time_limit}")
    with refusing(f"cannot make the folder {folder}"):
        (folder / "models").mkdir(parents=True, exist_ok=True)
    known = _read(folder / "manifest.csv")
    solvers = tuple(name for name in PROVERS if _is_here(name))
    here = SHIPPED.is_dir()
    for source in CATALOGUE:
        if source.size not in sizes or not (source.widths or here):
            continue
        maker = _Maker(source, folder)
        for check, formulation in maker.planned:
            name = _name(source, check, formulation)
            if _stands(known.get(name), folder, time_limit, solvers):
                continue
            progress(name)
            made, program, cost = maker.instance(check, formulation)
            known[name] = _proved(made, program, cost, time_limit, solvers)
            _write_lists(folder, known)
    _write_lists(folder, known)
    left_out = () if here else ("shipped models are left out: only a checkout has examples/",)
    return Library(tuple(_sorted(known.values())), left_out)


def _is_here(name: str) -> bool:
    return name in SOLVERS and SOLVERS[name].unavailable() is None


def _name(source: Source, check: int, formulation: str) -> str:
    return f"{source.name}-{check}-{formulation.replace(':', '')}"


def _sorted(known: Iterable[Instance]) -> list[Instance]:
    return sorted(known, key=lambda one: (SIZES.index(one.size), one.name))


def _stands(
    known: Instance | None, folder: Path, time_limit: float, solvers: Sequence[str]
) -> bool:
    """Return whether nothing would be gained by making an instance again."""
    if known is None or known.made_by != milp_verix.__version__:
        return False
    path = folder / known.file
    if not path.is_file() or sha256(path.read_bytes()).hexdigest() != known.sha256:
        return False
    spent = known.time_limit >= time_limit and known.asked == " ".join(solvers)
    return not time_limit or spent or known.optimum is not None


class _Maker:
    """Writes the model of a ``source`` once, and its instances, to ``folder``."""

    def __init__(self, source: Source, folder: Path) -> None:
        self._source, self._folder = source, folder

    @property
    def planned(self) -> list[tuple[int, str]]:
        """The check and the formulation of each instance."""
        return [(0, "big_m"), (1, "big_m"), *((0, name) for name in self._source.formulations)]

    @cached_property
    def _made(self) -> tuple[Generated, ProblemData, list[list[int]]]:
        """The model, the question and its checks, which are written to ``models/``."""
        source, stem = self._source, self._folder / "models" / self._source.name
        made = source.made()
        problem = source.problem(made)
        checks = source.checks(problem.features.count)
        write_atomically(stem.with_suffix(".onnx"), made.model)
        array = io.BytesIO()
        np.save(array, made.inputs[0])
        write_atomically(stem.with_suffix(".npy"), array.getvalue())
        write_checks(stem.with_suffix(".json"), checks, problem.features.count)
        return made, problem, checks

    def instance(self, check: int, formulation: str) -> tuple[Instance, Program, FloatArray]:
        """Write an instance of the strongest rival; return it with its program and cost."""
        source, (made, problem, checks) = self._source, self._made
        encoding = encode_problem(problem, checks[check], search=Search(formulation=formulation))
        rivals = rivals_of(problem, encoding.output.constant.size)
        index = 0
        if source.delta is None:
            scores = problem.network.outputs_at(problem.x)
            index = int(np.argmax(scores[rivals]))
        row, constant = encoding.output.row(index, encoding.program.columns)
        name, cost = _name(source, check, formulation), -row
        comments = (
            f"{name}, by milp-verix {milp_verix.__version__}: {made.how}",
            f"check {check}, rival {rivals[index]}; {source.norm} ball, radius {source.epsilon}; "
            f"formulation {formulation}",
            f"margin = {constant:.17g} - cost; above 0 the prediction changes",
        )
        file = self._folder / f"{name}.mps.gz"
        with TemporaryDirectory() as place:
            encoding.program.write(Path(place, "program.mps"), cost, comments)
            # no time in the file: digests are the same each time
            content = gzip.compress(Path(place, "program.mps").read_bytes(), mtime=0)
        write_atomically(file, content)
        size = size_of(encoding.program)
        instance = Instance(
            name=name,
            file=file.name,
            size=source.size,
            kind=source.kind,
            sha256=sha256(content).hexdigest(),
            digest=encoding.program.digest(cost),
            source=f"models/{source.name}.onnx",
            source_sha256=sha256(made.model).hexdigest(),
            generated=made.how,
            epsilon=source.epsilon,
            norm=source.norm,
            delta=source.delta,
            check=check,
            rival=rivals[index],
            free=len(checks[check]),
            formulation=formulation,
            constant=constant,
            columns=size.columns,
            rows=size.rows,
            binaries=size.binaries,
            nonzeros=size.nonzeros,
            made_by=milp_verix.__version__,
        )
        return instance, encoding.program, cost


def _proved(
    instance: Instance, program: Program, cost: FloatArray, limit: float, solvers: Sequence[str]
) -> Instance:
    """Return ``instance`` with what the first two of ``solvers`` that take it prove."""
    asked = two_proofs(program, cost, limit, solvers) if limit else []
    proofs = [one for one in asked if isinstance(one, SolverProof)]
    best: Any = min((one.value for one in proofs if one.value is not None), default=None)
    bound: Any = max((one.bound for one in proofs if np.isfinite(one.bound)), default=None)
    optimal = [one for one in proofs if one.optimal]
    hardness = "open"
    if optimal:
        fast = min(one.seconds for one in optimal) <= _EASY * limit
        hardness = "easy" if fast else "hard"
    if any(one.refutes(other) for one in proofs for other in proofs):
        hardness, optimal = _DISPUTED, []
    return replace(
        instance,
        hardness=hardness,
        optimum=best if len(optimal) == 2 else None,
        best=best,
        bound=bound if None in (best, bound) or not optimal else min(bound, best),
        proved_by="; ".join(f"{one.solver} in {one.seconds:.2f} s" for one in optimal),
        not_run="; ".join(one for one in asked if isinstance(one, str)),
        asked=" ".join(solvers),
        time_limit=limit,
    )


def _read(path: Path) -> dict[str, Instance]:
    """Return the instances of a manifest by name, none where there is no file."""
    if not path.exists():
        return {}
    what = f"{path} is no manifest of a library: choose another folder, or move it away"
    with (
        refusing(f"cannot read {path}"),
        refusing(what, ValueError, TypeError, KeyError, csv.Error),
    ):
        lines = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        known = [Instance(**{name: _cell(name, line[name]) for name in _KINDS}) for line in lines]
        _sorted(known)
    return {one.name: one for one in known if (path.parent / one.file).is_file()}


def _cell(name: str, text: str) -> Any:
    kind: Any = _KINDS[name]
    if isinstance(kind, type):
        return kind(text)
    return float(text) if text else None


_KINDS = {field.name: field.type for field in fields(Instance)}


def _write_lists(folder: Path, known: dict[str, Instance]) -> None:
    """Write the manifest last: what it lists is there."""
    instances = _sorted(known.values())
    lines: list[str] = []
    for one in instances:
        if one.optimum is not None:
            lines.append(f"=opt= {one.name} {one.optimum:.17g}")
        elif one.best is None and one.bound is None:
            lines.append(f"=unkn= {one.name}")
        for what, value in (("best", one.best), ("bestdual", one.bound)):
            if one.optimum is None and value is not None:
                lines.append(f"={what}= {one.name} {value:.17g}")
    write_atomically(folder / "milp-verix.solu", "".join(f"{line}\n" for line in lines))
    write_atomically(folder / "milp-verix.test", "".join(f"{one.file}\n" for one in instances))
    write_atomically(
        folder / "README.md",
        _README.read_text(encoding="utf-8").format(
            version=milp_verix.__version__, count=counted(len(instances), "instance")
        ),
    )
    written_as_csv([*_KINDS], [asdict(one) for one in instances], folder / "manifest.csv")
