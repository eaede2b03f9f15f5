"""The picture of the first page: three panels of the figure that the tool draws of a digit.

    python docs/first_picture.py

writes it to ``docs/_static/digit.png``, which README.md shows.
"""

from pathlib import Path

import numpy as np

import milp_verix

DOCS = Path(__file__).parent
PICTURE = DOCS / "_static" / "digit.png"
SHOWN = 19
"""The feature whose counterfactual is shown."""


def draw(picture: Path) -> milp_verix.Explanation:
    """Write the picture of the first digit's explanation to ``picture``; return the explanation."""
    examples = DOCS.parent / "examples"
    image = np.load(examples / "digits.npz")["images"][0]
    found = milp_verix.explain(examples / "digits.onnx", image, epsilon=0.1)
    figure = found.plot()
    tiles = {axes.get_title().split("\n")[0]: axes for axes in figure.axes}
    row, column = divmod(SHOWN, 8)
    other = found.counterfactuals[SHOWN].prediction
    panels = {
        f"the network\nsees a {found.prediction}": tiles["Input"],
        f"{found.size} pixels fixed:\nit stays a {found.prediction}": tiles["Explanation"],
        f"one of them free:\nit can be a {other}": tiles[f"row {row} column {column}"],
    }
    for text in list(figure.texts):
        text.remove()
    for axes in set(figure.axes) - set(panels.values()):
        axes.remove()
    figure.set_size_inches(6.6, 2.6)
    for place, (title, axes) in enumerate(panels.items()):
        axes.set_position((0.02 + 0.33 * place, 0.02, 0.3, 0.3 * 6.6 / 2.6))
        axes.set_title(title, fontsize=12)
        if legend := axes.get_legend():
            legend.remove()
    figure.savefig(picture, dpi=110, facecolor="white", metadata={"Software": None})
    return found


if __name__ == "__main__":
    draw(PICTURE)
