"""The tables of the command line, made from the commands themselves."""

import click

from milp_verix.cli.app import COMMANDS, command_named
from milp_verix.cli.help_sections import help_sections


def command_line_page() -> str:
    """Return the tables in Markdown: each command with its arguments, options and exit codes."""
    return "\n\n".join(_command(name) for name in COMMANDS) + "\n"


def _command(name: str) -> str:
    command = command_named(name)
    context = click.Context(command, info_name=f"milp-verix {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f"## {name}",
        " ".join((command.help or "").split()),
        f"```text\nmilp-verix {name} {usage}\n```",
        *(
            "\n".join([f"| {section.lower()} | meaning |", "|---|---|", *map(_row, rows)])
            for section, rows in help_sections(command, context).items()
        ),
    ]
    if command.epilog:
        lines.append(" ".join(command.epilog.split()))
    return "\n\n".join(lines)


def _row(parameter: tuple[str, str]) -> str:
    name, meaning = (" ".join(text.split()).replace("|", "\\|") for text in parameter)
    meaning = meaning.replace("*", "\\*").replace("<", "&lt;")
    return f"| `{name}` | {meaning} |"
