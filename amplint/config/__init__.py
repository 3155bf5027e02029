"""What to check and how: a configuration file, and the options of the command line."""

from amplint.config.files import Configuration, inline_layer
from amplint.config.keys import OUTPUT_FORMATS, ConfigError, Layer, parse_target_torch
from amplint.config.patterns import Patterns
from amplint.config.selection import Selection, select_rules
from amplint.config.settings import DEFAULT_EXCLUDE, Settings

__all__ = [
    "DEFAULT_EXCLUDE",
    "OUTPUT_FORMATS",
    "ConfigError",
    "Configuration",
    "Layer",
    "Patterns",
    "Selection",
    "Settings",
    "inline_layer",
    "parse_target_torch",
    "select_rules",
]
