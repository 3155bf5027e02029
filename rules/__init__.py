"""amplint's own rule pack: one file a rule, in folders by what the rules are about."""

from __future__ import annotations

from amplint.rule import Rule
from amplint.rules.internal.amp902_invalid_syntax import InvalidSyntaxRule

RULES: tuple[type[Rule], ...] = (InvalidSyntaxRule,)
