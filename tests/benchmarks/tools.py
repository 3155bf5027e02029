"""The tools that are timed, each in an environment of its own, and how a run of one is measured."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).parents[2]
_SCRIPTS = "Scripts" if os.name == "nt" else "bin"


@dataclass(frozen=True)
class Tool:
    """A command that takes a path at its end; ``slow`` where nobody wants to wait for it on a large tree."""

    command: tuple[str, ...]
    slow: bool = False


@dataclass
class Runs:
    """What the runs of one command took: seconds by the clock and of processors, MB of its largest process."""

    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def median(self, clock: str) -> float:
        """The median by a clock, ``wall`` or ``processor``."""
        return statistics.median(getattr(self, clock))


def install(folder: Path, *, rivals: bool) -> dict[str, Tool]:
    """Make the environments below ``folder``, where they are not there yet, and return the tools."""
    amplint = _environment(folder / "amplint", str(PROJECT), fresh=True)
    ruff = _environment(folder / "ruff", "ruff")
    cache = str(folder / "cache")
    quiet = ("--quiet", "--exit-zero")
    tools = {"python -c pass": Tool((str(amplint / "python"), "-c", "pass"))}
    ripgrep = shutil.which("rg")
    if ripgrep is not None:
        tools["rg -l"] = Tool((ripgrep, "-l", "--no-ignore", "autocast|GradScaler"))
    lint = ("check", "--isolated", "--select", "F", "--no-cache")
    tools["Ruff"] = Tool((str(ruff / "ruff"), *lint, *quiet))
    tools["amplint, nothing cached"] = Tool((str(amplint / "amplint"), *quiet, "--no-cache"))
    tools["amplint, nothing changed"] = Tool((str(amplint / "amplint"), *quiet, "--cache-dir", cache))
    if rivals:
        torchfix = _environment(folder / "torchfix", "torchfix==0.7.0")
        preflight = _environment(folder / "torch-preflight", "torch-preflight==0.5.0")
        tools["TorchFix 0.7.0"] = Tool((str(torchfix / "torchfix"), "--select", "ALL"), slow=True)
        tools["torch-preflight 0.5.0"] = Tool((str(preflight / "torch-preflight"), "check", "--quiet"), slow=True)
    return tools


def _environment(folder: Path, requirement: str, *, fresh: bool = False) -> Path:
    scripts = folder / _SCRIPTS
    if fresh or not scripts.is_dir():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(scripts / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, requirement], check=True)
    return scripts


def measure(tools: Mapping[str, Tool], path: Path, rounds: int) -> dict[str, Runs]:
    """The runs of each tool on ``path``, the tools taking turns; a first turn warms up and is not counted."""
    runs = {name: Runs() for name in tools}
    for turn in range(rounds + 1):
        for name, tool in tools.items():
            wall, usage = _run((*tool.command, str(path)))
            if turn:
                runs[name].wall.append(wall)
                runs[name].processor.append(usage.ru_utime + usage.ru_stime)
                runs[name].megabytes.append(usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3))
    return runs


def _run(command: tuple[str, ...]) -> tuple[float, resource.struct_rusage]:
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    code = process.returncode = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):  # 1 says that something was found
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return seconds, usage
