"""A study of many inputs, as one call.

Signatures, bodies and arguments are written by ``python docs/write_calls.py`` from the table of
options: change that instead.
"""

# fmt: off

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from milp_verix.api.entrance import different, remedied
from milp_verix.problem.ball import UNIT_DOMAIN
from milp_verix.problem.search import USUAL, fitting

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


@remedied
def explain_many(
    network: NetworkLike, xs: Any, *, epsilon: Epsilon | Sequence[Epsilon], journal: str | Path,
    norm: str = "linf", delta: float | None = None, domain: Domain = UNIT_DOMAIN,
    features: FeaturesLike = None, feature_names: Sequence[str] | None = None,
    label: ClassLike | None = None, against: ClassLike | Sequence[ClassLike] | None = None,
    output: int | None = None, image_shape: Sequence[int] | None = None,
    inputs: Inputs | Sequence[Feature] | None = None, order: OrderLike = "influence",
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

    Args:
        network: a model, the path of its file, or its bytes.
        xs: an array with an input for each entry of its first axis, a sequence of arrays, or the
            path of a ``.npy``, ``.npz`` (with ``:KEY`` behind it), ``.csv`` or ``.parquet`` file, a
            row for each input.
        epsilon: one radius or several, in the units of the inputs.
        norm: ``"linf"``, ``"l1"`` or ``"l2"``, over all coordinates freed together.
        delta: for regression, the change of an output that counts, in the output's units.
        domain: lower and upper end of the input domain.
        features: what is freed together, each coordinate by default.
        feature_names: the features' names, a text for each.
        label: the class explained, by number or name.
        against: the classes that must not overtake the predicted one.
        output: the output that a regression is about.
        image_shape: the shape in which a flat input is an image.
        inputs: the description of the inputs, :class:`milp_verix.Inputs` or its file.
        order: ``"influence"``, ``"adaptive"``, ``"sensitivity"``, ``"bound"``, ``"bound_crown"``,
            ``"margin"``, ``"random"``, ``"sequential"``, or a list of all features; see
            :mod:`milp_verix.searches.order`. An order whose bounds do not exist is replaced by the
            sequential one, with a note.
        transformation: ``"reversal"`` or ``"deletion"``, for the order ``"sensitivity"``.
        traversal: ``"galloping"``, ``"sequential"``, ``"binary"`` or ``"quickxplain"``: which
            checks are asked; the explanation is the same, see
            :mod:`milp_verix.searches.strategies`.
        costs: a finite number of at least zero for each feature, 1 each by default: the explanation
            with the least sum is found. Proofs are faster where all costs are whole multiples of a
            unit. ``InputError`` for costs too far apart to be added up exactly: the largest may be
            a million times the smallest above zero, or whole costs a billion units together. A
            mapping from names or indices of features has one for each, or ``"*"`` for the others.
        must: features that the explanation must contain, by names or indices. A feature among them
            that is not needed is listed in ``unknown``.
        must_not: features that it must not contain; ``InputError`` if these alone can change the
            prediction.
        gap: stop once ``(cost − lower bound) / cost`` is at most this.
        method: ``"scenarios"``, or ``"hitting_sets"``, an independent method to cross-check it, far
            slower on networks with more than a dozen features. Trees, and inputs with whole numbers
            or rules, are answered by hitting sets in any case.
        master: for scenarios, ``"tree"`` searches the relaxation by branch and bound over phases
            and features on one warm linear program of HiGHS, ``"program"`` gives it to ``solver``
            as a mixed-integer program; ``"auto"`` takes the tree if ``solver`` is HiGHS-based.
        limits: a :class:`~milp_verix.SearchLimits`, which divides time and work among techniques
            and may switch some off.
        minimise: ``"features"`` or ``"distance"``.
        solvers: their names, or one, of ``"highs"``, ``"phase"``, ``"cbc"``, ``"gurobi"``,
            ``"scip"``, ``"xpress"``, ``"copt"``, ``"cplex"``, ``"ortools"``, ``"pulp"``,
            ``"pyomo"``, ``"split"``, ``"beta"``, ``"leaves"``, ``"pulp:NAME"`` or ``"pyomo:NAME"``;
            by default all that are installed.
        formulations: their names, such as ``"big_m"`` or ``"partition:4"``.
        most_checks: the most checks of the explanation that are compared: spread evenly over those
            that bounds and attacks alone do not decide. By default all of them.
        rounds: how often each pair runs, in turns, 1 to 100; the run with the median time counts.
        seeds: how often each program is solved, 1 to 100: once as it stands, then with the solver's
            seeds 1, 2, … and rows and columns in another order; of ``task="check"`` alone.
        substitutes: whether another solver takes over what is beyond a licence, and is named then;
            by default such a program is not run.
        relaxations: whether the records of each program have the optimum of the linear relaxation,
            which HiGHS finds, outside of the times of the runs.
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
        solver: the solver's name, or an object.
        exactness: ``"exact"``; or, faster and still sound, with features left undecided.
        time_limit: the most seconds for each task.
        check_time_limit: the most seconds for each check.
        memory: bytes that the process may hold, or a text such as ``"2 GB"``.
        seed: seed of the order ``"random"``.
        threads: threads that the solver may use, if it can use several.
        bounds: how bounds on the neurons are found.
        segments: number of pieces that enclose each smooth activation, 1 to 1,000.
        formulation: how ReLUs become rows and columns.
        warm: what a solver keeps from one program to the next.
        reuse: whether a check uses points and bounds of earlier checks.
        tolerances: the distances that separate a proof from noise.
        progress: called with a :class:`Tally` at the start and after each record.

    More on the question: :class:`milp_verix.Problem`; on the search: :class:`milp_verix.Search`.

    Raises:
        InputError: an argument does not fit, or the journal cannot be written.
        ModelError: the network cannot be read.
        SolverUnavailableError: the solver is not installed.
    """
    given = different(explain_many, fitting("many", locals()))

    from milp_verix.study.study_run import run_many

    return run_many(**given)
