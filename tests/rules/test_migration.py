"""AMP201-203 against PyTorch itself: rewritten programs behave as before and raise no deprecation warning."""

from __future__ import annotations

import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from amplint.documents import Document
from amplint.findings import Finding
from amplint.fixer import Fixer
from amplint.registry import installed
from amplint.rule import TargetTorch

RULES = installed().rules
FIXTURES = Path(__file__).parents[2] / "rules" / "migration" / "fixtures"


def fix(text: str, filename: str = "train.py", target: TargetTorch | None = None) -> tuple[str, tuple[Finding, ...]]:
    done = Fixer(RULES, RULES, target).fix(Document(filename, textwrap.dedent(text).lstrip("\n")))
    return done.document.text, done.remaining.findings


def run(text: str, *, old: bool) -> dict[str, Any]:
    """Execute a program; the names that it must no longer use raise an error unless ``old``."""
    space: dict[str, Any] = {"__name__": "program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not old:
            warnings.filterwarnings("error", r".*(torch\.(cuda|cpu)\.amp|_autocast_\w+\(.*) ?.*deprecated")
            warnings.simplefilter("error", FutureWarning)
        exec(compile(text, "<program>", "exec", dont_inherit=True), space)
    return space


@pytest.fixture
def pretended_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """autocast and GradScaler keep ``enabled`` only where there is a GPU; nothing is computed on it here."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda *_: True)
    monkeypatch.setattr("torch.amp.autocast_mode.is_autocast_available", lambda _: True)
    yield


def region(context: torch.autocast) -> tuple[Any, ...]:
    with context:
        device = context.device
        return (
            device,
            torch.is_autocast_enabled(device),
            torch.get_autocast_dtype(device),
            torch.is_autocast_cache_enabled(),
        )


def scaler(made: torch.amp.GradScaler) -> tuple[Any, ...]:
    return (
        made._device,
        made._enabled,
        *(
            (made._init_scale, made._growth_factor, made._backoff_factor, made._growth_interval)
            if made._enabled
            else ()
        ),
    )


def argument_lists(parameters: dict[str, str]) -> Iterator[str]:
    """Every way to give any of the parameters, by position or by keyword."""
    names = list(parameters)
    for count in range(len(names) + 1):
        by_position = [parameters[name] for name in names[:count]]
        for size in range(len(names) - count + 1):
            for chosen in itertools.combinations(names[count:], size):
                yield ", ".join([*by_position, *(f"{name}={parameters[name]}" for name in chosen)])


AUTOCAST = [
    *argument_lists({"enabled": "True", "dtype": "torch.bfloat16", "cache_enabled": "False"}),
    *argument_lists({"enabled": "False", "dtype": "torch.float16"}),
]
SCALER = list(
    argument_lists(
        {
            "init_scale": "8.0",
            "growth_factor": "4.0",
            "backoff_factor": "0.25",
            "growth_interval": "7",
            "enabled": "False",
        }
    )
)

FORMS = {
    "attribute": ("import torch\n", "torch.{device}.amp.{name}({arguments})"),
    "submodule": ("import torch\n", "torch.{device}.amp.{module}.{name}({arguments})"),
    "module": ("import torch\nfrom torch.{device} import amp\n", "amp.{name}({arguments})"),
    "module alias": ("import torch\nimport torch.{device}.amp as tamp\n", "tamp.{name}({arguments})"),
    "name": ("import torch\nfrom torch.{device}.amp import {name}\n", "{name}({arguments})"),
    "name alias": ("import torch\nfrom torch.{device}.amp.{module} import {name} as made\n", "made({arguments})"),
    "torch alias": ("import torch as t\nimport torch\n", "t.{device}.amp.{name}({arguments})"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize(
    ("name", "module", "lists", "describe"),
    [("autocast", "autocast_mode", AUTOCAST, region), ("GradScaler", "grad_scaler", SCALER, scaler)],
    ids=["autocast", "GradScaler"],
)
def test_arguments_keep_their_meaning(
    form: str,
    device: str,
    name: str,
    module: str,
    lists: list[str],
    describe: Callable[[Any], tuple[Any, ...]],
    pretended_cuda: None,
) -> None:
    head, call = (part.replace("{device}", device) for part in FORMS[form])
    program = head.format(name=name, module=module) + "made_by = [\n"
    program += "".join(f"    {call.format(name=name, module=module, arguments=arguments)},\n" for arguments in lists)
    program += "]\n"
    after, findings = fix(program)
    assert not findings
    assert "cuda.amp" not in after and "cpu.amp" not in after
    before_objects, after_objects = run(program, old=True)["made_by"], run(after, old=False)["made_by"]
    assert [describe(made) for made in after_objects] == [describe(made) for made in before_objects]


def test_queries_answer_the_same() -> None:
    program = """
        import torch
        torch.set_autocast_gpu_dtype(torch.bfloat16)
        answers = [torch.get_autocast_gpu_dtype(), torch.get_autocast_cpu_dtype(), torch.is_autocast_cpu_enabled()]
        with torch.autocast("cpu", dtype=torch.float16):
            answers += [torch.get_autocast_cpu_dtype(), torch.is_autocast_cpu_enabled()]
            torch.set_autocast_cpu_enabled(False)
            answers.append(torch.is_autocast_cpu_enabled())
        torch.set_autocast_gpu_dtype(torch.float16)
    """
    after, findings = fix(program)
    assert not findings
    assert run(after, old=False)["answers"] == run(textwrap.dedent(program), old=True)["answers"]


def test_cast_helper_gets_its_device() -> None:
    program = """
        import torch
        from torch.cuda.amp.autocast_mode import _cast
        x = torch.ones(2, dtype=torch.float64)
        made = [_cast(x, torch.float16), _cast([x], dtype=torch.float16), _cast(value=x, dtype=torch.float16)]
    """
    after, findings = fix(program)
    assert not findings
    assert '_cast(x, "cuda", torch.float16)' in after
    assert str(run(after, old=False)["made"]) == str(run(textwrap.dedent(program), old=True)["made"])


def wholly_migrated() -> list[Path]:
    """The fixed fixtures in which no old name is left."""
    paths = sorted(FIXTURES.glob("*/*.fixed.py"))
    return [path for path in paths if not Fixer(RULES, RULES).lint(Document(path.name, path.read_text())).findings]


@pytest.mark.parametrize("path", wholly_migrated(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixed_fixture_runs_without_warning(path: Path) -> None:
    if path.parent.name.startswith("deprecated-") and not path.name.startswith("half_migrated"):  # the others fail
        run(path.with_name(path.name.replace(".fixed", "")).read_text(), old=True)
    run(path.read_text(), old=False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from torch.amp import GradScaler\nfrom torch.cuda.amp import autocast\nwith autocast(): pass\n",
            'from torch.amp import GradScaler, autocast\nwith autocast("cuda"): pass\n',
        ),
        (
            "from torch.cuda.amp import autocast\nfrom torch.amp import (\n    GradScaler,\n)\nwith autocast(): pass\n",
            'from torch.amp import (\n    GradScaler,\n    autocast,\n)\nwith autocast("cuda"): pass\n',
        ),
        (
            "from torch.amp import autocast as new\nfrom torch.cuda.amp import autocast\nwith autocast(): pass\n",
            'from torch.amp import autocast, autocast as new\nwith autocast("cuda"): pass\n',
        ),
        (
            "from torch import Tensor, nn\nfrom torch.cuda import amp\nx = amp.GradScaler()\n",
            'from torch import Tensor, amp, nn\nx = amp.GradScaler("cuda")\n',
        ),
        (
            "from torch import optim, nn\nfrom torch.cuda import amp\nx = amp.GradScaler()\n",
            'from torch import optim, nn, amp\nx = amp.GradScaler("cuda")\n',
        ),
        (
            "from torch import (\n    nn,\n)\nfrom torch.cuda import amp\nx = amp.GradScaler()\n",
            'from torch import (\n    amp,\n    nn,\n)\nx = amp.GradScaler("cuda")\n',
        ),
        (
            "from torch.cuda.amp import autocast  # why\nfrom torch.amp import GradScaler\nwith autocast(): pass\n",
            'from torch.amp import autocast  # why\nfrom torch.amp import GradScaler\nwith autocast("cuda"): pass\n',
        ),
        (
            "from torch.cuda.amp import \\\n    autocast, \\\n    common\nwith autocast(): pass\n",
            'from torch.amp import autocast\nfrom torch.cuda.amp import \\\n    common\nwith autocast("cuda"): pass\n',
        ),
        (
            "from torch.cuda.amp import (common,\n                            autocast)\nwith autocast(): pass\n",
            'from torch.amp import autocast\nfrom torch.cuda.amp import (common)\nwith autocast("cuda"): pass\n',
        ),
        (
            "def f():\n    from torch.cuda.amp import autocast, common  # noqa: PLC0415\n    with autocast(): pass\n",
            "def f():\n    from torch.amp import autocast  # noqa: PLC0415\n"
            '    from torch.cuda.amp import common  # noqa: PLC0415\n    with autocast("cuda"): pass\n',
        ),
        (
            "if True: from torch.cuda.amp import autocast, common\nwith autocast(): pass\n",
            'if True: from torch.amp import autocast; from torch.cuda.amp import common\nwith autocast("cuda"): pass\n',
        ),
        (
            "import torch\nimport torch.cuda.amp, os\nx = torch.cuda.amp.GradScaler()\n",
            'import torch\nimport os\nx = torch.amp.GradScaler("cuda")\n',
        ),
        (
            "import torch\nimport torch.cuda.amp as amp, os\nx = amp.GradScaler(), amp.common\n",
            'import torch\nimport torch.cuda.amp as amp, os\nx = torch.amp.GradScaler("cuda"), amp.common\n',
        ),
        (
            "import torch\nfrom torch.cuda import amp, Stream\nx = amp.GradScaler()\n",
            'import torch\nfrom torch import amp\nfrom torch.cuda import Stream\nx = amp.GradScaler("cuda")\n',
        ),
    ],
)
def test_imports(before: str, after: str) -> None:
    assert fix(before) == (after, ())


def test_no_final_newline() -> None:
    assert fix("import torch\nx = torch.cuda.amp.GradScaler()".replace("\n", "\r\n"))[0] == (
        'import torch\r\nx = torch.amp.GradScaler("cuda")'
    )


def test_reason_names_the_source_of_the_target() -> None:
    _, (finding,) = fix(
        "import torch\nx = torch.cuda.amp.GradScaler()\n", target=TargetTorch((2, 1), "requirements.txt")
    )
    assert finding.no_fix_reason == (
        "`torch.amp.GradScaler` needs torch 2.3, and this project supports torch 2.1 (requirements.txt)"
    )


def test_reason_names_the_line() -> None:
    _, (finding,) = fix("from torch.cuda.amp import autocast\n\n\ncall(autocast)\n")
    assert finding.no_fix_reason == "line 4 passes `autocast` on, and what calls it cannot be seen"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from torch import cuda as c\nc.amp.autocast()\nc.x\nimport torch as t\n",
            'import torch\nfrom torch import cuda as c\ntorch.amp.autocast("cuda")\nc.x\nimport torch as t\n',
        ),
        (
            "if a:\n    import torch\nfrom torch.cuda import amp\namp.autocast()\namp.x\n",
            'if a:\n    import torch\nimport torch\nfrom torch.cuda import amp\ntorch.amp.autocast("cuda")\namp.x\n',
        ),
        (
            "if a:\n    from torch.cuda import amp\nelse:\n    from torch.cuda import amp\namp.autocast()\namp.x\n",
            "if a:\n    import torch\n    from torch.cuda import amp\nelse:\n    import torch\n"
            '    from torch.cuda import amp\ntorch.amp.autocast("cuda")\namp.x\n',
        ),
    ],
)
def test_torch_is_bound_before_it_is_used(before: str, after: str) -> None:
    assert fix(before)[0] == after


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.cuda.amp.autocast = mine\ntorch.cuda.amp.autocast()\n",
        "import torch\nfrom torch.cuda import amp\namp.autocast = mine\nwith torch.cuda.amp.autocast():\n    pass\n",
        "from torch.cuda.amp import autocast\nimport torch\nif a:\n    torch.cuda.amp.autocast = mine\nautocast()\n",
    ],
)
def test_a_name_that_the_file_gives_another_value_stays(text: str) -> None:
    after, remaining = fix(text)
    assert after == text
    assert all("another value" in (finding.no_fix_reason or "") for finding in remaining)


def test_a_comment_inside_a_name_is_not_lost() -> None:
    text = "import torch\nregion = (torch  # of mine\n  .cuda.amp.autocast())\n"
    after, (finding,) = fix(text)
    assert after == text
    assert "comment" in (finding.no_fix_reason or "")
