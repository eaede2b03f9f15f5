"""The page of the command line, made from the commands themselves."""

from typing import Any

import click

from milp_verix.cli.app import COMMANDS, command_named


def command_line_page() -> str:
    """Return the page in Markdown: each command with its arguments, options and exit codes."""
    parts = ["# Command line", "Each command says the same with `--help`."]
    parts += [_command(name) for name in sorted(COMMANDS)]
    return "\n\n".join(parts) + "\n"


def _command(name: str) -> str:
    command = command_named(name)
    context = click.Context(command, info_name=f"milp-verix {name}")
    usage = command.collect_usage_pieces(context)
    rows = [_row(parameter, context) for parameter in command.params]
    told = [row for row in rows if row is not None]
    lines = [
        f"## {name}",
        " ".join((command.help or "").split()),
        f"```text\nmilp-verix {name} {' '.join(usage)}\n```",
        "\n".join(["| argument or option | meaning |", "|---|---|", *told]),
    ]
    if command.epilog:
        lines.append(" ".join(command.epilog.split()))
    return "\n\n".join(lines)


def _row(parameter: Any, context: click.Context) -> str | None:
    if isinstance(parameter, click.Argument):
        help_text = getattr(parameter, "help", None) or ""
        return f"| `{parameter.make_metavar(context)}` | {_cell(help_text)} |"
    record = parameter.get_help_record(context)
    if record is None:
        return None
    return f"| `{record[0]}` | {_cell(record[1])} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")
