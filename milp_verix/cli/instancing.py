"""The command ``milp-verix instances``: a library of programs, as MIPLIB is one."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from milp_verix.base.number_text import counted
from milp_verix.cli import delivery, parameters
from milp_verix.cli.progress import status_line
from milp_verix.cli.startup import DISAGREEMENT, INTERRUPTED
from milp_verix.comparison.instance_sources import SIZES
from milp_verix.comparison.instances import make_library


def instances(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the library.")],
    sizes: Annotated[str, parameters.output_option("SIZE,…", f"Of {', '.join(SIZES)}.")] = ",".join(
        SIZES
    ),
    time_limit: Annotated[
        float,
        parameters.search_option(
            "S", "Seconds for each of two solvers on an instance; 0 for none."
        ),
    ] = 60.0,
    quiet: parameters.Quiet = False,
) -> None:
    """Write programs of generated networks and trees as instances, and prove their optima."""
    with delivery.refusals() as errors, delivery.termination_as_interrupt():
        with status_line("…", "{} …".format)(errors) as show:
            chosen = [size.strip() for size in sizes.split(",") if size.strip()]
            try:
                found = make_library(folder, chosen, time_limit, show)
            except KeyboardInterrupt:
                errors.print("interrupted; the same command goes on", markup=False)
                raise typer.Exit(INTERRUPTED) from None
        if not quiet:
            tally = Counter(one.hardness for one in found.instances)
            verified = sum(one.optimum is not None for one in found.instances)
            kinds = ", ".join(f"{count} {hardness}" for hardness, count in sorted(tally.items()))
            delivery.Terminal(soft_wrap=True).print(
                f"{folder}: {counted(len(found.instances), 'instance')}, {kinds}; the optima of "
                f"{verified} are proven by two solvers",
                markup=False,
            )
        for remark in found.remarks:
            errors.print(f"note: {remark}", markup=False)
        for name in found.disputed:
            errors.print(f"error: solvers contradict each other on {name}", markup=False)
    if found.disputed:
        raise typer.Exit(DISAGREEMENT)


FUNCTIONS = {
    "instances": (
        instances,
        "The same command goes on where it was interrupted. Exit codes: 0 the library is whole; "
        "2 an argument or the folder cannot be used; 4 two solvers contradict each other; 130 it "
        "was interrupted, and what is there is whole.",
    )
}
