"""How long a tree that never mentions AMP takes, against Ruff on the same tree.

Writes 10,000 files of plausible Python into a temporary folder, runs ``amplint`` and ``ruff check --select F
--no-cache`` on it in turn, and prints the medians. Exits with 1 where amplint takes more than 1.5 times as long.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 1.5

_WORDS = "batch model tensor example stamp clamp sample layer weight config value index result path scale total".split()


def write_tree(root: Path, count: int, seed: int = 0) -> int:
    """Write ``count`` files of 1 to 12 kB, 50 in a folder, and return their bytes."""
    choose = random.Random(seed)
    written = 0
    for number in range(count):
        folder = root / f"package_{number // 2500}" / f"part_{number // 50 % 50}"
        folder.mkdir(parents=True, exist_ok=True)
        functions = (_function(choose, index) for index in range(choose.randint(3, 36)))
        text = "import os\nimport sys\n\n\n" + "\n\n\n".join(functions) + "\n\n\nprint(os.name, sys.argv)\n"
        (folder / f"module_{number}.py").write_text(text, encoding="utf-8")
        written += len(text)
    return written


def _function(choose: random.Random, index: int) -> str:
    one, two, three = choose.sample(_WORDS, 3)
    return (
        f"def {one}_{index}({two}, {three}=None):\n"
        f'    """Return the {one} of {two}, or of {three}."""\n'
        f"    {one} = [{two} + {choose.randint(1, 99)} for {two} in range({choose.randint(2, 9)})]\n"
        f"    if {three} is not None and len({one}) > {choose.randint(1, 9)}:\n"
        f"        for item in {one}:\n"
        f'            print("{two}", item, {three})\n'
        f"    return {{'{one}': {one}, '{three}': {three}}}"
    )


def measure(commands: dict[str, list[str]], root: Path, rounds: int) -> dict[str, float]:
    """The median seconds of each command on ``root``, the commands taking turns; the first turn only warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run([*command, str(root)], stdout=subprocess.DEVNULL, check=True)
            if turn:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    commands = {
        "ruff": [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "--no-cache", "--quiet"],
        "amplint": [sys.executable, "-m", "amplint", "--quiet"],
    }
    with tempfile.TemporaryDirectory() as folder:
        size = write_tree(Path(folder), options.files)
        medians = measure(commands, Path(folder), options.rounds)
    ratio = medians["amplint"] / medians["ruff"]
    print(f"{options.files} files, {size / 1e6:.1f} MB: median of {options.rounds} rounds each")
    for name, median in medians.items():
        print(f"  {name:8} {median:.3f} s")
    print(f"  ratio    {ratio:.2f} (at most {LIMIT})")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
