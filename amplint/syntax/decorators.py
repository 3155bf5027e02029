"""What a definition's decorators, or its metaclass, make of the calls of it."""

from __future__ import annotations

import re

import libcst as cst

from amplint.syntax.enclosing import last_name

_KEEPING = re.compile(r"cache|memo|singleton|once|lazy", re.IGNORECASE)
_PLAIN_METACLASSES = frozenset({"ABCMeta", "type", "EnumMeta"})


def keeps_what_it_makes(definition: cst.FunctionDef | cst.ClassDef) -> bool:
    """Whether calls of a function or a class may come to what the first call made, and not run it again."""
    if any(_KEEPING.search(last_name(decorator.decorator)) for decorator in definition.decorators):
        return True
    if not isinstance(definition, cst.ClassDef):
        return False
    return any(
        keyword.keyword is not None
        and keyword.keyword.value == "metaclass"
        and last_name(keyword.value) not in _PLAIN_METACLASSES
        for keyword in definition.keywords
    )
