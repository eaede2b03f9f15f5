"""The page of a sweep: its picture, the facts at each radius, and what the answers rest on."""

import milp_verix
from milp_verix.records.sweep import EpsilonSweep
from milp_verix.reporting.figures.sweep_plot import plot_sweep
from milp_verix.reporting.pages.claims import claims
from milp_verix.reporting.pages.page import Section, page
from milp_verix.reporting.pages.result_views import drawn, outcome
from milp_verix.reporting.pages.tables import facts_table
from milp_verix.reporting.words.radius_table import sweep_facts
from milp_verix.reporting.words.radius_wording import sweep_headline


def sweep_page(sweep: EpsilonSweep) -> str:
    """Return the report of a sweep as HTML."""
    first, lead = sweep.levels[0], "; ".join(map(outcome, sweep.levels))
    sections = [
        Section("picture", "The radii", drawn(plot_sweep(sweep), f"{sweep_headline(sweep)}")),
        Section(
            "facts", "Facts", facts_table("What was asked, and what was found", sweep_facts(sweep))
        ),
        Section("grounds", "What the answers rest on", claims(["explain"])),
        Section(
            "versions",
            "Versions",
            facts_table(
                "Versions",
                [*sorted(first.versions.items()), ("SHA-256 of the network", first.model.sha256)],
            ),
        ),
    ]
    return page(sweep_headline(sweep), lead, sections, milp_verix.__version__)
