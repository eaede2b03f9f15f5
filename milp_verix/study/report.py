"""Pages of HTML: ``write_report`` of a file or an object, ``write_notice`` of a decision."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from milp_verix.base.arguments import FUNCTION, PATH, checked, instance_of, integer_of, path_of
from milp_verix.base.errors import InputError, refusing
from milp_verix.base.files import written
from milp_verix.base.stored_numbers import json_in, parsed
from milp_verix.results.base import Result, difference_of
from milp_verix.results.comparison import Comparison
from milp_verix.results.comparison_files import ComparisonFile, write_json
from milp_verix.results.contrast import ContrastiveExplanation
from milp_verix.results.conversion import converted
from milp_verix.results.explanation import EpsilonSweep
from milp_verix.results.json_format import KINDS, load
from milp_verix.results.ranges import Ranges
from milp_verix.results.solver_times import SHIFT
from milp_verix.study.journal import best_records
from milp_verix.study.solver_study import SolverStudy, study_of
from milp_verix.study.study_page import study_page
from milp_verix.views.notice import notice_page
from milp_verix.views.result_page import result_page
from milp_verix.views.solver_pages import comparison_page, runs_in_csv, solver_study_page

FORMS = (
    "the journal of a study (.jsonl, or a folder), a result's JSON (.json, .json.gz), or the JSON "
    "or CSV of compare"
)
_MANY = 24


@checked(path=PATH.or_none(), results=PATH.or_none(), warn=FUNCTION)
def write_report(
    source: Any,
    path: str | Path | None = None,
    *,
    gallery: int = 1000,
    counterfactuals: int | None = None,
    results: str | Path | None = None,
    shift: float = SHIFT,
    warn: Callable[[str], None] = warnings.warn,
) -> str:
    """Return a report of ``source`` as one HTML page, and write it to ``path`` if given.

    The page needs no network and no JavaScript; with JavaScript its tables and its gallery can be
    sorted.

    Args:
        source: the journal of a study, a file or a folder, of solvers too; the JSON file of a
            result or sweep; the JSON or CSV file of a comparison; or a result, sweep, comparison or
            study of solvers itself.
        path: the file to write.
        gallery: the most explanations of a study that are shown, spread evenly.
        counterfactuals: the most for each explanation; by default 4 of an image in a study, all of
            a table's row, and 24 for one result.
        results: a folder of whole results of the study, if they are not beside the journal.
        shift: seconds that shifted means of a journal of solvers add.
        warn: called with a text for each line of a journal that is no record, and where records
            stand twice or are by several versions.

    Raises:
        InputError: the source cannot be read or is nothing of this, or ``path`` cannot be written.
    """
    gallery = integer_of(gallery, "gallery", 0)
    some = None if counterfactuals is None else integer_of(counterfactuals, "counterfactuals", 0)
    many = _MANY if some is None else some
    named = isinstance(source, str | Path)
    if path is not None and named and path_of(source, "source").resolve() == Path(path).resolve():
        raise InputError(f"{path} is the source of the report; name another file for the page")
    if isinstance(source, Result | EpsilonSweep):
        text = result_page(source, counterfactuals=many)
    elif isinstance(source, Comparison):
        data = parsed(write_json(source))
        text = comparison_page(source.model, data["runs"], data)
    elif isinstance(source, SolverStudy):
        text = _of_solvers("", source)
    elif (studied := _solver_study(source, warn, shift)) is not None:
        text = _of_solvers(Path(source).name, studied)
    elif _is_study(path_of(source, "source")):
        text = study_page(
            Path(source),
            results=None if results is None else Path(results),
            most=gallery,
            counterfactuals=some,
            warn=warn,
        )
    elif Path(source).suffix == ".csv":
        text = comparison_page(Path(source).name, runs_in_csv(Path(source)))
    else:
        text = _of_json(Path(source), many)
    return written(text, path, "the report ")


@checked(
    ranges=instance_of(Ranges),
    contrast=instance_of(ContrastiveExplanation).or_none(),
    certificate=PATH.or_none(),
    path=PATH.or_none(),
)
def write_notice(
    ranges: Ranges,
    contrast: ContrastiveExplanation | None = None,
    path: str | Path | None = None,
    *,
    importance: Any = None,
    certificate: str | Path | None = None,
) -> str:
    """Return the notice of a decision for the person it is about, and write it to ``path``.

    A page of HTML with at most four reasons in words, the changes that are enough for another
    decision, what is proven of both, and what is not said. It is no legal advice.

    Args:
        ranges: what decided, by :func:`milp_verix.inflate`, about a described input.
        contrast: what would change it, by :func:`milp_verix.contrastive`: of the same model, input
            and description, with the same radii and rivals.
        path: the file to write.
        importance: a number for each feature by which reasons are ordered: by name, in a list, or
            a result with such ``values``. Otherwise the narrowest range comes first.
        certificate: the file with the proof of the ranges. It is read, and checked if the model's
            file, or that of its trees, is beside it, beside the page or in the current folder.

    Raises:
        InputError: nothing is proven of ``ranges``, its input has no names, ``contrast`` or a
            result given as ``importance`` is about another question (but for directions),
            ``certificate`` proves something else, or ``path`` cannot be written.
    """
    if ranges.inputs is None:
        raise InputError("a notice needs names and words: describe the input, by inputs=")
    if ranges.unknown_reason is not None:
        raise InputError(f"a notice needs proven ranges: {ranges.unknown_reason}")
    for other, name in ((contrast, "the contrast"), (importance, "the importance")):
        if isinstance(other, Result) and (
            words := difference_of(other, ranges, ("directions",), "in the ranges")
        ):
            raise InputError(
                f"{name} is about another question than the ranges: its {words}; ask both of the "
                "same model and input, with the same arguments"
            )
    proof = None
    if certificate is not None:
        from milp_verix.certificates.restated import proof_text  # it loads the checker

        near = [] if path is None else [Path(path).parent]
        proof = proof_text(Path(certificate), ranges, [*near, Path()])
    text = notice_page(ranges, contrast, importance, proof)
    return written(text, path, "the notice ")


def _is_study(path: Path) -> bool:
    return path.is_dir() or path.suffix == ".jsonl"


def _solver_study(source: Any, warn: Callable[[str], None], shift: float) -> SolverStudy | None:
    """Return the study of solvers whose journal ``source`` is, or None for anything else."""
    path = path_of(source, "source")
    if not _is_study(path):
        return None
    records = list(best_records(path, lambda _: None))
    compared = [record for record in records if record["task"] == "compare"]
    if not compared:
        return None
    if len(compared) < len(records):
        warn(f"{path}: {len(records) - len(compared)} tasks of other kinds are left out")
    return study_of(compared, shift=shift)


def _of_solvers(name: str, study: SolverStudy) -> str:
    models = ", ".join(dict.fromkeys(row["model"] for row in study.rows))
    versions = dict.fromkeys(f"{row['solver']} {row['version']}" for row in study.rows)
    facts = [("models", models), ("versions", ", ".join(versions))]
    remarks = [f"Contradiction: {text}" for text in study.disagreements]
    remarks += [f"Not asked: {text}" for text in study.skipped]
    remarks += [f"Without a result: {text}" for text in study.failed]
    return solver_study_page(name, study.times, facts, remarks)


def _of_json(path: Path, counterfactuals: int) -> str:
    """Return the report of what a JSON file holds."""
    try:
        data = json_in(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}; a report needs {FORMS}") from error
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}; a report needs {FORMS}") from error
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == "comparison":
        with refusing(f"{path} is not a comparison that compare wrote", ValueError):
            converted(data, ComparisonFile)
        return comparison_page(path.name, data["runs"], data)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{path} holds no result that a report knows; a report needs {FORMS}")
    return result_page(load(path, KINDS[kind]), counterfactuals=counterfactuals)
