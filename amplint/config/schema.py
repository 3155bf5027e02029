"""The JSON schema of a configuration, for editors: ``python -m amplint.config.schema`` prints it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from amplint.config.keys import KEYS
from amplint.rule import Rule


def schema(rules: Iterable[type[Rule]]) -> dict[str, Any]:
    """The schema of ``amplint.toml`` and of ``[tool.amplint]``, with the codes and names of ``rules``."""
    words = {"ALL"}
    for rule in rules:
        letters = len(re.split(r"[0-9]", rule.code)[0])
        words.update((rule.name, *(rule.code[:end] for end in range(letters, len(rule.code) + 1))))
    properties = {key.name: {"description": key.about, **key.schema} for key in KEYS.values()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "amplint",
        "description": "The settings of amplint, in amplint.toml or in [tool.amplint] of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "definitions": {
            "selector": {
                "description": "A rule's code or name, the beginning of codes, or ALL.",
                "anyOf": [
                    {"enum": sorted(words)},
                    {"type": "string", "pattern": "^(?!AMP)[A-Z]+[0-9]*$", "description": "Rules of another pack."},
                ],
            }
        },
    }


def main() -> None:
    """Print the schema with the rules that are installed."""
    from amplint.registry import installed

    print(json.dumps(schema(installed().rules), indent=2))


if __name__ == "__main__":
    main()
