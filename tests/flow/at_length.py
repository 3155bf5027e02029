"""The explorer against PyTorch at length: ``python tests/flow/at_length.py KIND FIRST COUNT``.

KIND is ``one`` or ``several`` (optimizers), ``pairs`` (of a right program and a faulty one, which ``--fix`` must
bring back to the weights that were meant), or ``fixed`` (what ``--fix`` leaves without a finding runs without misuse).
The programs are those of the seeds FIRST to FIRST + COUNT - 1: what ran in parts ran as a whole.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from programs import program, program_of_several
from test_random_programs import badly_fixed, disagreements, still_wrong

PART = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("one", "several", "pairs", "fixed"))
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong: list[str] = []
    fixed: Counter[str] = Counter()
    left: Counter[str] = Counter()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        for first in range(options.first, options.first + options.count, PART):
            count = min(PART, options.first + options.count - first)
            os.environ["AMPLINT_SEED"] = str(first)
            with contextlib.redirect_stdout(io.StringIO()):  # the programs print
                if options.kind == "pairs":
                    found, healed, unhealed = badly_fixed(count, path)
                    fixed += healed
                    left += unhealed
                elif options.kind == "fixed":
                    found = still_wrong(count, path)
                else:
                    found = disagreements(count, path, program if options.kind == "one" else program_of_several)
            for each in found:
                print(each, flush=True)
            wrong += found
            done = first + count - options.first
            print(f"{done} of {options.count}, {len(wrong)} wrong, {time.monotonic() - begun:.0f} s", flush=True)
    seeds = f"seeds {options.first} to {options.first + options.count - 1}"
    print(f"{options.count} programs ({options.kind}, {seeds}): {len(wrong)} wrong")
    if options.kind == "pairs":
        print(f"{fixed.total()} fixed: {dict(sorted(fixed.items()))}")
        print(f"{left.total()} left as they were: {dict(sorted(left.items()))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
