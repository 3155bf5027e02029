"""From the sources of the site to its pages, by MkDocs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amplint.registry import installed
from amplint.rule import documentation_url
from amplint.site.guide import guide
from amplint.site.reference import command_line, rule_pack, settings
from amplint.site.rules import overview, rule_page

ROOT = Path(__file__).parents[2]
_ASSETS = Path(__file__).parent / "assets"


def build(folder: str | os.PathLike[str], *, measured: bool) -> None:
    """Write the site into ``folder``, with what the training scripts do where that is to be ``measured``.

    Raises :class:`subprocess.CalledProcessError` where MkDocs finds fault with the pages, such as a link to nowhere.
    """
    pages = _pages(measured)
    with TemporaryDirectory() as made:
        sources = Path(made, "docs")
        for name, text in pages.items():
            path = sources / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        shutil.copytree(_ASSETS, sources / "assets")
        configuration = Path(made, "mkdocs.yml")
        configuration.write_text(json.dumps(_configuration(pages)), encoding="utf-8")  # which is YAML, too
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(configuration)]
        environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # Material's, about a version that it does not take
        subprocess.run([*command, "--site-dir", os.path.abspath(folder)], check=True, env=environment)


def _pages(measured: bool) -> dict[str, str]:
    """The Markdown of each page, by its path, in the order in which a reader finds them."""
    rules = installed().rules
    sections = guide(ROOT / "README.md")
    return {
        **{name: text for name, text in sections.items() if name not in ("rules.md", "contributing.md")},
        "rules/index.md": overview(rules, sections["rules.md"]),
        **{f"rules/{rule.name}.md": rule_page(rule, ROOT, measured) for rule in rules},
        "reference/command-line.md": command_line(),
        "reference/settings.md": settings(),
        "reference/rule-pack.md": rule_pack(ROOT / "fixtures" / "rule-pack"),
        "project/contributing.md": (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        "project/changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "project/license.md": "# Licence\n\n" + (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }


def _configuration(pages: Iterable[str]) -> dict[str, Any]:
    names = list(pages)

    def under(folder: str) -> list[str]:
        return [name for name in names if name.startswith(f"{folder}/")]

    return {
        "site_name": "amplint",
        "site_url": documentation_url() or "",
        "site_description": "The linter that makes PyTorch mixed precision right.",
        "nav": [
            {"Guide": [name for name in names if "/" not in name]},
            {"Rules": under("rules")},
            {"Reference": under("reference")},
            {"Project": under("project")},
        ],
        "theme": {
            "name": "material",
            "font": False,  # no page asks another server for anything
            "features": [
                "content.code.copy",
                "content.tabs.link",
                "navigation.tabs",
                "search.highlight",
                "search.suggest",
            ],
            "icon": {"logo": "material/lightning-bolt"},
            "palette": [
                {
                    "media": f"(prefers-color-scheme: {scheme})",
                    "scheme": name,
                    "primary": "deep orange",
                    "accent": "deep orange",
                    "toggle": {"icon": "material/theme-light-dark", "name": f"Switch to {other} colours"},
                }
                for scheme, name, other in (("light", "default", "dark"), ("dark", "slate", "light"))
            ],
        },
        "plugins": ["search"],
        "extra": {"generator": False},
        "extra_css": ["assets/amplint.css"],
        "markdown_extensions": [
            "admonition",
            "pymdownx.highlight",
            "pymdownx.superfences",
            "tables",
            {"pymdownx.tabbed": {"alternate_style": True}},
            {"toc": {"permalink": True}},
        ],
        "validation": {"anchors": "warn", "absolute_links": "warn", "unrecognized_links": "warn"},
    }
