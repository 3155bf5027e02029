"""The README, one page a section."""

from __future__ import annotations

import re
from pathlib import Path

# what the README links to, as pages of the site
_PAGES = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "LICENSE": "project/license.md",
    "fixtures/rule-pack": "reference/rule-pack.md",
}


def guide(readme: Path) -> dict[str, str]:
    """The Markdown of each page by its name; what stands above the first heading of a section is ``index.md``."""
    first, *sections = _sections(readme.read_text(encoding="utf-8"))
    pages = {"index.md": first}
    for section in sections:
        title = section.splitlines()[0]
        name = re.sub(r"[^a-z]+", "-", title.lower()).strip("-")
        pages[f"{name}.md"] = re.sub(r"^#(#+ )", r"\1", f"## {section}", flags=re.MULTILINE) if name else ""
    return {name: _linked(text) for name, text in pages.items()}


def _sections(text: str) -> list[str]:
    """``text`` cut before its headings of the second level; a `## ` in a block of code is none."""
    found, fenced = [""], False
    for row in text.splitlines(keepends=True):
        fenced ^= row.startswith("```")
        if row.startswith("## ") and not fenced:
            found.append("")
            row = row.removeprefix("## ")
        found[-1] += row
    return found


def _linked(text: str) -> str:
    return re.sub(r"\]\(([^)\s:#]+)\)", lambda link: f"]({_PAGES.get(link[1], link[1])})", text)
