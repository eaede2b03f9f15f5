"""The options of ``batch`` in groups: the course of a study, and the search of each task."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from milp_verix.base.errors import InputError
from milp_verix.cli.asked import list_in
from milp_verix.cli.files import order_in
from milp_verix.cli.help_sections import output_option, question_option, search_option
from milp_verix.models.loaded_model import LoadedModel
from milp_verix.searches.explain.order import ORDERS
from milp_verix.study.tasks import FUNCTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Options that say which tasks a study has."""

    epsilon: Annotated[
        str | None, question_option(metavar="E[,E…]", help="Radii, such as 0.01,0.05 or 8/255.")
    ] = None
    task: Annotated[
        str,
        question_option(metavar=",".join(FUNCTIONS), help="One or several, with commas between."),
    ] = "explain"
    order: Annotated[
        str | None,
        search_option(
            metavar=",".join([*ORDERS, "FILE"]), help="Traversal orders, with commas between."
        ),
    ] = None
    indices: Annotated[
        str | None,
        question_option(metavar="0:100", help="The inputs wanted, such as 0:100 or 3,17. [all]"),
    ] = None
    columns: Annotated[
        str | None,
        question_option(metavar="A,B,…", help="The columns of a table that make an input. [all]"),
    ] = None

    def grid(self, network: LoadedModel) -> dict[str, list[Any]] | None:
        """Return the orders, by name or as lists from files; None for the usual one."""
        if self.order is None:
            return None
        return {"order": [order_in(part, "--order", network) for part in list_in(self.order) or []]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Options that say how a study is done; the answers do not depend on them."""

    journal: Annotated[
        Path | None,
        output_option(
            metavar="STUDY.jsonl",
            help="A line for each finished task, by which the study goes on; or a folder, with a "
            "file for each process.",
        ),
    ] = None
    workers: Annotated[
        int, search_option(metavar="N", min=1, help="Processes that share the tasks.")
    ] = 1
    scheduler: Annotated[
        str | None,
        search_option(
            metavar="tcp://HOST:PORT", help="A Dask scheduler, whose workers share the tasks."
        ),
    ] = None
    retry: Annotated[
        str, search_option(metavar="undecided,failed", help="Do tasks that ended so again.")
    ] = ""
    results: Annotated[
        Path | None,
        output_option(
            metavar="FOLDER",
            help="Write whole results with their counterfactuals here. [STUDY.results]",
        ),
    ] = None
    no_results: Annotated[
        bool, output_option("--no-results", help="Leave whole results out: there is the journal.")
    ] = False
    certificate: Annotated[
        Path | None,
        output_option(
            metavar="FOLDER", help="Write a proof of each result here, as certify does of a folder."
        ),
    ] = None
    fsync: Annotated[
        bool, output_option("--fsync", help="Force each record to the disk before the next.")
    ] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``run_parts``, each by the name of its option."""
        if self.no_results and self.results is not None:
            raise InputError("--no-results and --results exclude each other; leave one out")
        if self.no_results and self.certificate is not None:
            raise InputError("--certificate needs whole results; leave --no-results out")
        return {
            "journal": self.journal,
            "workers": self.workers,
            "scheduler": self.scheduler,
            "retry": list_in(self.retry) or [],
            "results": self.results or not self.no_results,
            "fsync": self.fsync,
        }
