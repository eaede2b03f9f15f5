"""The help of a command in sections, and the options of each section."""

from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand

SECTIONS = ARGUMENTS, OUTPUT, QUESTION, SEARCH = (
    "Arguments",
    "The output",
    "The question",
    "The search",
)

question_option = partial(typer.Option, rich_help_panel=QUESTION)
search_option = partial(typer.Option, rich_help_panel=SEARCH)
output_option = partial(typer.Option, rich_help_panel=OUTPUT)


def help_sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the sections of the help of ``command``: each parameter, and its meaning.

    Options that must be given stand with the arguments; ``--help`` stands with the output.
    """
    found: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
    for parameter in command.get_params(context):
        if (record := parameter.get_help_record(context)) is None:
            continue
        if parameter.required or parameter.param_type_name == "argument":
            found[ARGUMENTS].append(record)
        else:
            found[getattr(parameter, "rich_help_panel", None) or OUTPUT].append(record)
    return {section: rows for section, rows in found.items() if rows}


class SectionedCommand(TyperCommand):
    """A command whose help is in sections, as plain text: Rich would break long choices."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        for section, rows in help_sections(self, ctx).items():
            with formatter.section(section):
                formatter.write_dl(rows)
