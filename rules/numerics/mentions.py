"""What a text must say for a tensor in it to be float16."""

from __future__ import annotations

import re

HALF = re.compile(r"autocast|float16|\.half\b|HalfTensor")
