"""Sizes by random orders as distributions, with VeriX's order, ours and the minimum beside them."""

import numpy as np

from benchmarks.paper.workplace import Workplace
from milp_verix.views import style

_MARKS = {
    "sensitivity": ("VeriX's order", "D", "#1f6fb4"),
    "influence": ("our default", "o", "#12a05c"),
    "minimum": ("minimum", "_", "#e0218a"),
}


def orders(place: Workplace) -> style.Drawing:
    """Draw a box of sizes by random orders for each image, and one mark for each method."""
    question, count = place.scale.orders, place.scale.order_count
    seeds = {"order": ["random"], "seed": list(range(count))}
    drawn = place.study("figure-orders-random", question, grid=seeds, results=False)
    indices = sorted(drawn["index"].unique())
    boxes = [drawn.loc[drawn["index"] == index, "size"].to_numpy() for index in indices]
    chosen = {"order": ["sensitivity", "influence"]}
    ordered = place.study("figure-orders", question, grid=chosen)
    limit = place.scale.minimum_limit
    least = place.study("figure-orders-minimum", question, task="minimum", time_limit=limit)

    sheet = style.Sheet(max(5.6, 1.4 + 0.55 * len(indices)), 4.0)
    sheet.text(style.MARGIN, style.MARGIN - 0.05, "Sizes by order", fontsize=12, fontweight="bold")
    fact = f"{question.network}, ε = {100 * question.epsilon:g} %; boxes: {count} random orders; "
    fact += f"minimum: proven for {(least['status'] == 'done').sum()} in {limit:g} s each"
    sheet.text(style.MARGIN, style.MARGIN + 0.2, fact, fontsize=8.5, color=style.MUTED)
    axes = sheet.axes(style.MARGIN + 0.45, 1.1, sheet.width - 2 * style.MARGIN - 0.45, 2.3)
    positions = np.arange(len(indices))
    line = {"color": style.INK, "linewidth": 0.8}
    axes.boxplot(
        boxes,
        positions=positions,
        widths=0.55,
        whis=(0, 100),
        patch_artist=True,
        boxprops={"facecolor": "#dddddd", "edgecolor": style.FRAME},
        medianprops=line,
        whiskerprops=line,
        capprops=line,
    )
    for name, (label, marker, colour) in _MARKS.items():
        table = least if name == "minimum" else ordered[ordered["order"] == name]
        sizes = [int(table.loc[table["index"] == index, "size"].iloc[0]) for index in indices]
        size = 160 if marker == "_" else 26
        axes.scatter(positions, sizes, marker=marker, s=size, color=colour, label=label, zorder=3)
    axes.set_xticks(positions, [str(index) for index in indices])
    axes.set_xlabel("image", **style.LABEL)
    axes.set_ylabel("features in the explanation", **style.LABEL)
    axes.set_ylim(bottom=0)
    axes.tick_params(**style.TICKS)
    axes.grid(axis="y", color=style.GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize=8.5)
    return sheet.figure
