"""The help of commands: its sections, the pictures that commands offer, the list of commands."""

import click
import pytest
from typer.testing import CliRunner

import milp_verix
from milp_verix.cli.app import COMMANDS, app, command_named
from milp_verix.cli.parameters import ARGUMENTS, OUTPUT, SECTIONS, help_sections

RESULTS = {
    "explain": milp_verix.Explanation,
    "minimum": milp_verix.Explanation,
    "contrastive": milp_verix.ContrastiveExplanation,
    "enumerate": milp_verix.Enumeration,
    "relevance": milp_verix.Relevance,
    "importance": milp_verix.Importance,
    "radius": milp_verix.RobustnessRadii,
    "sweep": milp_verix.EpsilonSweep,
    "audit": milp_verix.Audit,
    "compare": milp_verix.Comparison,
}
"""Each command finds one kind of result; the other commands find none."""


def sections(name: str) -> dict[str, list[tuple[str, str]]]:
    command = command_named(name)
    return help_sections(command, click.Context(command))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_says_its_section(name: str) -> None:
    for parameter in command_named(name).params:
        if parameter.param_type_name == "option" and not parameter.required:
            assert parameter.rich_help_panel in SECTIONS, parameter.name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_every_parameter_once_and_in_its_section(name: str) -> None:
    text = CliRunner().invoke(app, [name, "--help"]).output
    found = sections(name)
    places = [text.index(f"\n{section}:\n") for section in found]
    assert places == sorted(places)
    told = [row[0] for rows in found.values() for row in rows]
    assert len(told) == len(set(told)) == len(command_named(name).params) + 1  # --help
    assert found[OUTPUT][-1][0].endswith("--help")
    assert all("[required]" in meaning for row, meaning in found[ARGUMENTS] if row.startswith("--"))


@pytest.mark.parametrize("name", RESULTS)
def test_a_command_draws_what_its_result_draws(name: str) -> None:
    named = [option for option, _ in sections(name)[OUTPUT]]
    assert named[0] == "--json OUT"
    assert ("--plot OUT" in named) == hasattr(RESULTS[name], "plot")


def test_the_list_of_commands_begins_with_explain_and_is_whole() -> None:
    text = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    told = text.partition("Commands: ")[2]
    assert told == " ".join(f"{name} {sentence}" for name, sentence in COMMANDS.items())
    assert told.startswith("explain ")
