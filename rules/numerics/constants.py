"""What the rules about constants in half precision share: a number, and the float16 tensor that it meets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from amplint.findings import Finding, Fix
from amplint.mentions import OF_PRECISION
from amplint.rule import Context, Rule

if TYPE_CHECKING:
    from amplint.precision import Tensor, Use

HALF = re.compile(r"autocast|float16|\.half\b|HalfTensor")
"""What a text must say for a tensor in it to be float16."""


class HalfConstantRule(Rule):
    """A constant that float16 cannot hold, where it meets a tensor that certainly is float16."""

    mentions = (
        b"autocast",
        b"torch.float16",
        b"torch.half",
        b".half(",
        (b"import torch as", b".float16"),
        (b"import torch as", b".half"),
    )
    imported_mentions = OF_PRECISION
    written: ClassVar[re.Pattern[str]]
    """How a text spells such constants."""
    advice: ClassVar[str]
    no_fix_reason: ClassVar[str]

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the places where such a constant meets such a tensor, each once."""
        text = context.document.text
        if "torch" not in text or not HALF.search(text) or not self.written.search(text):
            return
        seen: set[object] = set()
        for use in context.precision.uses:
            met = None if use.node in seen else self.met(use)
            if met is None or use.doubts(met[0]):
                continue
            tensor, number = met
            seen.add(use.node)
            fix = self.fix(context, use, number)
            yield context.finding(
                self,
                use.node,
                self.message(use, number),
                help=self.advice,
                related=(context.related(tensor.origin, "this is float16"),) if tensor.origin is not None else (),
                candidates=(fix,) if fix is not None else (),
                no_fix_reason=None if fix else self.no_fix_reason,
            )

    def met(self, use: Use) -> tuple[Tensor, float] | None:
        """The float16 tensor and the constant that an operation brings together."""
        raise NotImplementedError

    def message(self, use: Use, number: float) -> str:
        """What becomes of the constant."""
        raise NotImplementedError

    def fix(self, context: Context, use: Use, number: float) -> Fix | None:
        """The constant replaced by one that float16 holds, where that is certain."""
        return None
