"""A page for each rule: one switches between the code before and what comes of it, and the code after."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from textwrap import indent

from amplint.rule import Rule

_CODE = re.compile(r"```python\n(.*?)```\n", re.DOTALL)


def overview(rules: Iterable[type[Rule]], section: str) -> str:
    """The README's section on the rules, the names in its table linked to their pages."""
    for rule in rules:
        section = section.replace(f"| {rule.code} | {rule.name} |", f"| {rule.code} | [{rule.name}]({rule.name}.md) |")
    return section


def rule_page(rule: type[Rule], root: Path, measured: bool) -> str:
    """The page of ``rule``; with what its training scripts below ``root`` do, if that is to be ``measured``."""
    (title, top), *sections = _sections(rule.page())
    said = dict(sections)
    page = f"# {title}\n\n{_facts(rule)}{top}{_section(said, 'What it does')}"
    before, after = (_CODE.search(said.get(heading, "")) for heading in ("Example", "Use instead"))
    if before and after:
        page += "## Example\n\n" + _tabs(
            {
                "Before": said.pop("Example") + _note("danger", said, "Why is this bad?"),
                "After": said.pop("Use instead") + _note("success", said, "Fix safety"),
                "Change": _difference(before[1], after[1]),
            }
        )
    scripts = sorted((root / "fixtures" / rule.name).glob("*.before.py"))
    if scripts:
        page += "## Measured\n\nTraining scripts that show the fault, as they are run by amplint's tests.\n\n"
        page += _tabs({_name(path): _script(path, measured) for path in scripts})
    return page + "".join(_section(said, heading) for heading in list(said))


def _facts(rule: type[Rule]) -> str:
    facts = {
        "severity": rule.severity.value,
        "fix": rule.fixable,
        "since": rule.since,
        "selected": "by default" if rule.default else "only on demand",
    }
    told = "".join(f"<span><b>{name}</b> {value}</span>" for name, value in facts.items())
    return f'<p class="facts">{told}</p>\n\n'


def _sections(page: str) -> list[tuple[str, str]]:
    """The headings of ``page`` and what stands below each."""
    parts = re.split(r"^##? (.*)\n", page, flags=re.MULTILINE)[1:]
    return [(heading, f"{text.strip()}\n\n") for heading, text in zip(parts[::2], parts[1::2], strict=True)]


def _section(said: dict[str, str], heading: str) -> str:
    text = said.pop(heading, None)
    return "" if text is None else f"## {heading}\n\n{text}"


def _note(kind: str, said: dict[str, str], heading: str) -> str:
    text = said.pop(heading, None)
    return "" if text is None else f'!!! {kind} "{heading}"\n\n{indent(text, "    ")}'


def _tabs(contents: dict[str, str]) -> str:
    """Markdown that shows one of ``contents`` at a time, as the reader chooses."""
    return "".join(f'=== "{label}"\n\n{indent(text, "    ")}\n' for label, text in contents.items())


def _difference(before: str, after: str) -> str:
    rows = difflib.unified_diff(before.splitlines(True), after.splitlines(True), n=len(before))
    return f"```diff\n{''.join(list(rows)[3:])}```\n"


def _name(path: Path) -> str:
    return path.name.partition(".")[0].replace("_", " ")


def _script(path: Path, measured: bool) -> str:
    """The script at ``path`` and what ``--fix`` makes of it, if anything, with what came of running them."""
    fixed = path.with_name(path.name.replace(".before.", ".after."))
    before = path.read_text(encoding="utf-8")
    contents = {"Before": f"```python\n{before}```\n"}
    if fixed.exists():
        after = fixed.read_text(encoding="utf-8")
        contents |= {"After": f"```python\n{after}```\n", "Change": _difference(before, after)}
    if not measured:
        return _tabs(contents)
    from amplint.site.measured import measure

    return f"{measure(path, fixed if fixed.exists() else None)}\n{_tabs(contents)}"
