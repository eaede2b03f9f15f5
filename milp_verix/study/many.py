"""A study of many inputs, as one call.

Written by ``python docs/write_calls.py`` from the tables of calls and options: change these
instead. A call has no body: what :func:`delegated` names is loaded once it is asked.
"""

# fmt: off
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from milp_verix.api.entrance import delegated
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.search import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from milp_verix.base.tolerances import Tolerances
    from milp_verix.inputs.feature import Feature
    from milp_verix.inputs.inputs import Inputs
    from milp_verix.inputs.radii import Epsilon
    from milp_verix.models.onnx.onnx_network import NetworkLike
    from milp_verix.problem.ball import Domain
    from milp_verix.problem.features import CostsLike, FeaturesLike
    from milp_verix.problem.search import ClassLike, OrderLike
    from milp_verix.searches.minimum.search_limits import SearchLimits
    from milp_verix.solvers import Solver
    from milp_verix.study.study_run import Tally
    from verix_encodings import BoundMethod, Formulation


@delegated("many", to="study.study_run.run_many")
def explain_many(
    network: NetworkLike, xs: Any, *, epsilon: Epsilon | Sequence[Epsilon], journal: str | Path,
    norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, order: OrderLike = "auto",
    transformation: str = "reversal", traversal: str = "galloping", costs: CostsLike = None,
    must: str | Sequence[str | int] = (), must_not: str | Sequence[str | int] = (),
    gap: float = 0.0, method: str = "scenarios", master: str = "auto",
    limits: SearchLimits | None = None, minimise: str = "features",
    solvers: str | Sequence[str] | None = None, formulations: str | Sequence[str] = ("big_m",),
    most_checks: int | None = None, rounds: int = 1, seeds: int = 1, substitutes: bool = False,
    relaxations: bool = False, workers: int = 1, scheduler: str | None = None, client: Any = None,
    retry: Collection[str] = (), results: bool | str | Path = True, fsync: bool = False,
    warn: Callable[[str], None] = warnings.warn, task: str | Sequence[str] = "explain",
    grid: Mapping[str, Sequence[Any]] | None = None, indices: str | Sequence[int] | None = None,
    columns: Sequence[str] | None = None, solver: str | Solver = "auto", exactness: str = "exact",
    time_limit: float | None = None, check_time_limit: float | None = None,
    memory: float | str | None = None, seed: int = 0, threads: int = 1,
    bounds: BoundMethod | str = "auto", segments: int = 6, formulation: str | Formulation = "big_m",
    warm: str = "auto", reuse: bool = True, tolerances: Tolerances = USUAL.tolerances,
    progress: Callable[[Tally], None] | None = None
) -> Tally:
    """Explain many inputs, each with every setting of a grid, and write a journal of the results.

    Each finished task appends one JSON object as a line to ``journal``. Tasks that it has a record
    of are skipped, so a study that was killed goes on where it was. An input that fails becomes a
    record with the status ``"failed"`` and the reason. Ctrl-C ends the study with what is there.
    :func:`milp_verix.read_study` reads the journal as a table. Options are the same for all tasks
    that take them.

    Options of a task: see :func:`milp_verix.explain`, :func:`milp_verix.minimum`,
    :func:`milp_verix.contrastive` and :func:`milp_verix.compare`.

    Args:
        xs: an array with an input for each entry of its first axis, a sequence of arrays, or the
            path of a ``.npy``, ``.npz`` (with ``:KEY`` behind it), ``.csv`` or ``.parquet`` file, a
            row for each input. Values are taken as they are.
        epsilon: one radius or several, in the units of the inputs.
        inputs: the description of the inputs, :class:`milp_verix.Inputs` or its file. A table, a
            pandas DataFrame too, then has a column for each feature, with numbers or words, and
            ``epsilon`` may be ``inf``, ``"10%"`` of ranges or ``"0.5sd"``.
        journal: a ``.jsonl`` file; or a folder, in which each process writes a file of its own.
        workers: processes that share the tasks; more than one need joblib.
        scheduler: the address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers
            share the tasks instead.
        client: a ``dask.distributed.Client`` in the place of an address.
        retry: tasks with these statuses, ``"undecided"`` or ``"failed"``, are done again.
        results: True stores whole results with their counterfactuals in ``STUDY.results`` beside
            ``STUDY.jsonl``, for pictures and reports; a folder stores them there, False nowhere.
            Each is a file that ``Explanation.from_json`` reads; the record's ``result`` names it.
        fsync: whether each record is forced to the disk, to survive a failure of the machine.
        warn: called with a text for each line of the journal that is no record, and where records
            stand twice or are by several versions.
        task: ``"explain"``, ``"minimum"``, ``"contrastive"``, or several of them; or ``"compare"``:
            solvers and formulations answer the same checks, see
            :func:`milp_verix.read_solver_study`.
        grid: other arguments with several values each, such as ``{"order": ["influence",
            "adaptive"]}``; every combination is a task for each input.
        indices: the inputs wanted, by default all: a list, or text such as ``"0:100"``.
        columns: the columns of a table that make an input, by name and in its order.
        time_limit: the most seconds for each task; None for no limit.
        progress: called with a :class:`Tally` at the start and after each record.

    Raises:
        InputError: an argument does not fit, or the journal cannot be written.
        ModelError: the network cannot be read.
        SolverUnavailableError: the solver is not installed.
    """
