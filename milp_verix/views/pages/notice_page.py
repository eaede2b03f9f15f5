"""The page of a decision for the person it is about."""

from typing import Any

from milp_verix.results.records.contrast import ContrastiveExplanationRecord
from milp_verix.results.records.ranges import RangesRecord
from milp_verix.views.figures.any_result import figure_of
from milp_verix.views.pages.parts import drawn
from milp_verix.views.pages.rendering import rendered
from milp_verix.views.words.notice import (
    LIMITS,
    MOST_REASONS,
    changes_of,
    least_text,
    others_text,
    proven_texts,
    reason_text,
    reasons_of,
)
from milp_verix.views.words.sentences import compared, decided
from milp_verix.views.words.wording import counted


def notice_page(
    found: RangesRecord,
    contrast: ContrastiveExplanationRecord | None,
    importance: Any,
    proof: str | None,
) -> str:
    """Return the notice of a decision as HTML; ``proof`` are words on the file with the proof."""
    ranked = reasons_of(found, importance)
    shown = ranked[:MOST_REASONS]
    decision = f"{decided(found)}{compared(found)}"
    order = "in the order of the importance given"
    if importance is None:
        order = "the one with the least room first"
    count = counted(len(shown), "reason") if len(shown) == len(ranked) else "main reasons"
    versions = [f"{name} {version}" for name, version in sorted(found.versions.items())]
    return rendered(
        "notice.html",
        title=f"{decision[0].upper()}{decision[1:]}, and what decided",
        lead="Made by a model, explained with a proof",
        introduction=f"The {count} for {decision}, {order}:"
        if shown
        else f"No reason is listed for {decision}.",
        reasons=[reason_text(found, one) for one in shown],
        others=others_text(found, ranked, len(shown)),
        drawing=drawn(figure_of(found), "The ranges of what decided").drawing,
        changes=[] if contrast is None else changes_of(contrast),
        least=least_text(contrast),
        proven=proven_texts(found, contrast, proof),
        about=[
            ("model", found.model.file),
            ("SHA-256 of the model", found.model.sha256),
            ("SHA-256 of the input", found.input_sha256),
            ("written with", ", ".join(versions)),
        ],
        limits=LIMITS,
    )
