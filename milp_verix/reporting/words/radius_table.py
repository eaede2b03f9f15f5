"""Facts about sweeps and robustness radii, as tables."""

from rich.table import Table

from milp_verix.records.radius import RadiusBracket, RobustnessRadii
from milp_verix.records.sweep import EpsilonSweep
from milp_verix.reporting.words.explanation_table import question_facts, still_facts, table_of
from milp_verix.reporting.words.feature_labels import SHOWN, change_texts, labels_of
from milp_verix.reporting.words.radius_wording import bracket_text, unit_of
from milp_verix.reporting.words.wording import (
    counted,
    kept_text,
    number,
    outcome_text,
    radius_text,
    seconds_text,
    tally,
)


def sweep_facts(sweep: EpsilonSweep) -> list[tuple[str, str]]:
    """Return the facts about ``sweep``, as pairs of a name and a text."""
    first = sweep.levels[0]
    told = question_facts(first)
    for number_, level in enumerate(sweep.levels):
        checks = counted(level.statistics.checks, "check")
        told.append(
            (
                radius_text(level, short=True),
                f"{level.size} of {counted(len(level.groups), 'feature')}, {outcome_text(level)}; "
                f"{_freed(sweep, number_)}; "
                f"{seconds_text(level.statistics.seconds)}, {checks}",
            )
        )
    nested = "yes: features irrelevant at a radius are irrelevant at every smaller one"
    told.append(("nested", nested if sweep.nested else "no: each radius is explained alone"))
    stopped = f"; stopped: {sweep.stopped}" if sweep.stopped else ""
    told.append(("time", seconds_text(sweep.seconds) + stopped))
    return told + [("note", note) for note in first.notes]


def _freed(sweep: EpsilonSweep, number: int) -> str:
    """Return how many features are irrelevant at a level, were not before, or have no room."""
    free, later = sweep.freed()[number], sweep.added()[number]
    told = f"irrelevant: {counted(free, 'feature')}"
    if number and later:
        told += f", {later} of them in the explanation at every larger radius"
    still = len(sweep.levels[number].irrelevant) - free
    return f"{told}; without room to change: {still}" if still else told


def sweep_table(sweep: EpsilonSweep) -> Table:
    """Return the facts about ``sweep`` as a table of two columns."""
    return table_of(sweep_facts(sweep))


def radii_facts(found: RobustnessRadii) -> list[tuple[str, str]]:
    """Return the facts about ``found``, as pairs of a name and a text."""
    told = question_facts(found)
    told += _each(found) if found.each else _together(found, found.bracket)
    open_ = [b.unknown_reason for b in found.brackets if b.unknown_reason is not None]
    if open_:
        told.append(("wider than asked", f"{counted(len(open_), 'bracket')}: {tally(open_)}"))
    statistics = found.statistics
    stopped = f"; stopped: {statistics.stopped}" if statistics.stopped else ""
    return [
        *told,
        ("solver", f"{found.solver} {found.versions.get(found.solver, '')}".strip()),
        ("effort", f"{counted(statistics.checks, 'check')}, {counted(statistics.solves, 'solve')}"),
        ("time", seconds_text(statistics.seconds) + stopped),
        *(("note", note) for note in found.notes),
    ]


def radii_summary(found: RobustnessRadii) -> Table:
    """Return the facts about ``found`` as a table of two columns."""
    return table_of(radii_facts(found))


def _together(found: RobustnessRadii, bracket: RadiusBracket) -> list[tuple[str, str]]:
    count = len(found.groups)
    chosen = f"{len(bracket.features)} of {counted(count, 'feature')}"
    if len(bracket.features) < count:
        chosen += f": {labels_of(found).listed(bracket.features)}"
    told = [("free", chosen), ("radius", bracket_text(found, bracket))]
    factor, unit = unit_of(found)
    fixed = f"{number(factor * bracket.lower, 6)}{unit}"
    told.append(("proven", f"{kept_text(found)} up to {fixed}"))
    if bracket.counterfactual is not None and bracket.upper is not None:
        far = f"{number(factor * bracket.upper, 6)}{unit}"
        told.append(("counterfactual", f"at the distance {far}"))
        if found.inputs is not None:
            told += [("change", text) for text in change_texts(found, bracket.counterfactual)]
    return told


def _each(found: RobustnessRadii) -> list[tuple[str, str]]:
    """Return the features irrelevant at all radii, and the others, the smallest radius first."""
    labels = labels_of(found)
    never = sorted({*found.irrelevant} - {*found.still})
    told = [(labels.unit, f"listed as {labels.axes} from 0")] if labels.axes else []
    count = f"{len(never)} of {counted(len(found.groups), 'feature')}"
    told.append(("irrelevant", f"{count}, up to the largest radius asked about"))
    if never:
        told.append(("", labels.listed(never)))
    told += still_facts(found)
    others = sorted(
        (bracket for bracket in found.brackets if not bracket.irrelevant),
        key=lambda bracket: (bracket.lower, bracket.features),
    )
    told += [(labels.short(one.features[0]), bracket_text(found, one)) for one in others[:SHOWN]]
    if len(others) > SHOWN:
        told.append(("", f"… and {len(others) - SHOWN} more"))
    return told
