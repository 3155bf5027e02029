"""Random programs, spoiled training code and raw bytes: no crash, no hang, nothing passed over or written."""

from __future__ import annotations

import os
import sys

import pytest
from hostile import broken

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hangs are seen by an alarm, which Windows lacks")

SEED = int(os.environ.get("AMPLINT_SEED", 7))
COUNT = int(os.environ.get("AMPLINT_DOCUMENTS", 20_000))


def test_what_nobody_would_write() -> None:
    pytest.importorskip("hypothesmith")
    assert broken(SEED, 60) == []


@pytest.mark.slow
def test_much_that_nobody_would_write() -> None:
    pytest.importorskip("hypothesmith")
    assert broken(SEED, COUNT) == []
