"""The site of amplint: the pages of its rules, made from the rules themselves, and what the README says.

``python -m amplint.site FOLDER`` writes it from a clone; it needs MkDocs with Material, which the extra ``site``
installs. Where torch is installed, too, the training scripts of ``fixtures/`` are run, and the pages tell what came of
it.
"""

from __future__ import annotations

from amplint.site.build import build

__all__ = ["build"]
