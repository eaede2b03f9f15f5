"""The command line: ``milp-verix explain MODEL INPUT --epsilon E``, and the other commands.

A command's module is loaded when the command runs, so that help and mistakes answer at once.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

import milp_verix
from milp_verix.base.errors import printable, shortened
from milp_verix.cli.parameters import SectionedCommand, with_groups_expanded
from milp_verix.cli.startup import INTERRUPTED, UNUSABLE, loading

COMMANDS = dict(
    line.split(": ", 1)
    for line in """\
explain: Find features that, when fixed, keep the prediction while all other features may change.
minimum: Find the explanation with the fewest features, and prove that none has fewer.
contrastive: Find the fewest features whose change changes the prediction, and an input that \
shows it.
inflate: Find the widest ranges of kept features within which the prediction provably stays.
enumerate: List the minimal explanations: sets that keep the prediction, and sets that change it.
relevance: Tell if protected features are in every explanation of a decision, in some, or in none.
importance: Weigh the features by a power index of the sets that keep the prediction, with brackets.
radius: Bracket the largest radius up to which features may change, and the prediction stays.
sweep: Explain at several radii: features irrelevant at one are irrelevant at all smaller ones.
audit: Judge an explanation by any tool: sound or not, minimal or not, proofs and witnesses.
batch: Explain many inputs, at several radii, and write a journal from which a study goes on.
columns: Show for each column how often the decisions of a study need it, and its typical values.
report: Write a page with tables, distributions and a gallery that needs no network.
certify: Write a proof of a stored explanation that is checked without a solver and without trust.
compare: Run the same checks, or the same explanation, on solvers and formulations side by side.
export: Write the program of one check: its least cost gives the highest margin.
instances: Write programs of generated networks and trees as instances, and prove their optima.
solvers: Show the solvers: installed or not, version, licence, abilities, and a self-test.
""".splitlines()
)
"""The first line of each command's help."""

_ELSEWHERE = {
    "batch": "studying",
    **dict.fromkeys(("certify", "columns", "report"), "stored_results"),
    "compare": "comparing",
    "instances": "instancing",
    **dict.fromkeys(("export", "solvers"), "solving"),
}
"""The modules of the commands that are not in ``cli.searching``."""

_PLAIN: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


class Escaping:
    """A stream whose texts reach ``inner`` with escapes for what would command a terminal."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def write(self, text: str) -> int:
        """Write ``text``; of an error of Typer's, as of our own, lines of 400 characters."""
        kept = printable(text, "\n\t")
        if kept.startswith("Error: "):
            kept = "\n".join(map(shortened, kept.split("\n")))
        return int(self.inner.write(kept))

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # there would be none
            raise AttributeError(name)
        return getattr(self.inner, name)


class _Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that ``args`` begin with, loaded."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, command_named(str(name)), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands in whole sentences."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


def command_named(name: str) -> Any:
    """Return the command, one of ``COMMANDS``, as Typer runs it."""
    with loading():
        module = import_module(f"milp_verix.cli.{_ELSEWHERE.get(name, 'searching')}")
    function, epilog = module.FUNCTIONS[name]
    single = typer.Typer(**_PLAIN)
    single.command(name, cls=SectionedCommand, epilog=epilog)(with_groups_expanded(function))
    return get_command(single)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    **_PLAIN,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milp-verix {milp_verix.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Explain the predictions of networks and of trees, with proofs."""


def _not_loaded() -> None:
    """Stand for a command in the list of commands."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_not_loaded)


@contextmanager
def escaping() -> Iterator[None]:
    """Print with escapes for control characters inside the block."""
    out, err = (one and Escaping(one) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


@contextmanager
def ending() -> Iterator[None]:
    """End the program after the block: Ctrl-C and errors of the machine are exit codes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a console may know no ε
    try:
        try:
            with escaping():
                yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # at its end Python would say what goes wrong in its own way
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        # Typer and Rich leave without a word where nobody reads what they print
        if isinstance(end.__context__, BrokenPipeError):
            _give_up(end.__context__)
        raise
    except (MemoryError, OSError, ImportError) as error:
        _give_up(error)


def _give_up(error: MemoryError | OSError | ImportError) -> NoReturn:
    """Print one line with the error that ended the command."""
    if isinstance(error, MemoryError):
        why = f"out of memory ({str(error) or 'no more is given'}); ask for less, or free some"
    elif isinstance(error, ImportError):
        first: BaseException = error
        while first.__cause__ is not None:  # packages wrap it in advice of many lines
            first = first.__cause__
        why = f"cannot load what the command needs: {' '.join(str(first).split())}"
    else:
        where = "" if error.filename is None else f" {error.filename}"
        why = f"cannot read or write{where}: {error.strerror or error}"
    with suppress(OSError, MemoryError):
        typer.echo(f"error: {shortened(printable(why))}", err=True)
    with suppress(OSError):
        # Python flushes at its end, and would say it again
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(UNUSABLE)
