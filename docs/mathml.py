"""Formulas as MathML, which browsers draw themselves: no script from elsewhere is loaded."""

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer ``mathml`` with Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
