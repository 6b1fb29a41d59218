"""The documentation site: ``make docs`` builds it into build/docs, with warnings as errors.

Some of it is made while it is built, so that it cannot go stale: the command line from the commands' own help, the
tutorial from its notebook, and the end of the table of contents from the pages that there are. Formulas become MathML,
which browsers draw themselves: like the report, the site loads nothing from anywhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # for tools/

from docutils.nodes import SkipNode  # noqa: E402
from docutils.utils.math.latex2mathml import tex2mathml  # noqa: E402

from bilex.version import __version__  # noqa: E402
from tools.pages import command_line_page, listing_page, tutorial_page  # noqa: E402

project = "bilex"
author = "The bilex developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
highlight_language = "text"
exclude_patterns = ["results/**"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
default_role = "code"  # docstrings name things in single backticks

html_theme = "furo"
html_title = f"bilex {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_math_renderer = "mathml"


def setup(app: Any) -> None:
    """Make these pages when Sphinx reads them, and draw formulas."""
    pages: dict[str, Callable[[], str]] = {
        "index": lambda: listing_page(HERE),
        "commandline": command_line_page,
        "tutorial": lambda: tutorial_page(HERE / "tutorial.ipynb", run=True),
    }

    def fill(_: Any, name: str, source: list[str]) -> None:
        if name in pages:
            source[0] = pages[name]()

    app.connect("source-read", fill)
    # They depend on what Sphinx does not watch: read them every time.
    app.connect("env-get-outdated", lambda *_: list(pages))
    app.add_html_math_renderer("mathml", inline_renderers=(draw, None), block_renderers=(draw_block, None))
    app.connect("build-finished", make_accessible)


def make_accessible(app: Any, error: Exception | None) -> None:
    """Let the keyboard reach what can be scrolled, and give the captions of the contents a level."""
    changes = {
        "<pre>": '<pre tabindex="0">',
        '<div class="table-wrapper colwidths-auto docutils container">': '<div class="table-wrapper" tabindex="0">',
        '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    }
    for page in Path(app.outdir).glob("*.html") if error is None else ():
        text = page.read_text("utf-8")
        for before, after in changes.items():
            text = text.replace(before, after)
        page.write_text(text, "utf-8")


def draw(writer: Any, node: Any) -> None:
    """Write a formula in a line of text."""
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def draw_block(writer: Any, node: Any) -> None:
    """Write a formula on its own; a long one can be scrolled."""
    formula = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="table-wrapper" tabindex="0">{formula}</div>')
    raise SkipNode
