"""The tables of the command line, made from the commands themselves."""

import re

import click

from milp_verix.cli.app import COMMANDS, command_named
from milp_verix.cli.parameters import help_sections


def command_line_page() -> str:
    """Return the tables in Markdown: each command with its arguments, options and exit codes."""
    return "\n\n".join(_command(name) for name in COMMANDS) + "\n"


def _command(name: str) -> str:
    command = command_named(name)
    context = click.Context(command, info_name=f"milp-verix {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f"## {name}",
        _text(command.help or ""),
        f"```text\nmilp-verix {name} {usage}\n```",
        *(
            "\n".join([f"| {section.lower()} | meaning |", "|---|---|", *map(_row, rows)])
            for section, rows in help_sections(command, context).items()
        ),
    ]
    if command.epilog:
        lines.append(_text(command.epilog))
    return "\n\n".join(lines)


def _row(parameter: tuple[str, str]) -> str:
    name, meaning = (text.replace("|", "\\|") for text in parameter)
    return f"| `{name}` | {_text(meaning)} |"


def _text(told: str) -> str:
    """Return what the help says in Markdown, with options as code: two hyphens would be a dash."""
    plain = " ".join(told.split()).replace("*", "\\*").replace("<", "&lt;")
    return re.sub(r"(?<!\w)--[\w-]+", r"`\g<0>`", plain)
