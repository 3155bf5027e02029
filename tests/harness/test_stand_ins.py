"""Training loops run with stand-ins: what is wrong shows, what is right does not, and nothing outside is reached."""

from __future__ import annotations

import atexit
import ctypes
import importlib.machinery
import io
import json
import mmap
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from runs import FIXTURES

from amplint.harness.standins import NothingToRun, rehearsal, rehearse
from amplint.harness.standins.command import main
from amplint.harness.standins.guard import Refused, guard


def codes(source: str, wanted: str | None = None) -> set[tuple[str, int]]:
    rehearsals = rehearse(textwrap.dedent(source), "loop.py", wanted)
    assert all(rehearsal.reached for rehearsal in rehearsals)
    return {(seen.code, seen.row) for rehearsal in rehearsals for seen in rehearsal.seen.values()}


STEP = """
    import torch
    from data import loader
    from models import build

    class Engine:
        def __init__(self, args):
            self.model = build(args).to(args.device)
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
            self.scaler = torch.amp.GradScaler("cuda", enabled=args.amp)

        def epoch(self, criterion, accumulate):
            for index, (images, labels) in enumerate(loader):
                with torch.autocast("cuda"):
                    loss = criterion(self.model(images), labels) / accumulate
                self.scaler.scale(loss).backward()
                if (index + 1) % accumulate == 0:
                    {step}
                    self.optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("self.scaler.step(self.optimizer); self.scaler.update()", set()),
        ("self.optimizer.step()", {("AMP101", 18)}),
        ("self.scaler.step(self.optimizer)", {("AMP102", 18)}),
        (
            "torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0); "
            "self.scaler.step(self.optimizer); self.scaler.update()",
            {("AMP103", 18)},
        ),
        (
            "self.scaler.unscale_(self.optimizer); torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0); "
            "self.scaler.step(self.optimizer); self.scaler.update()",
            set(),
        ),
    ],
)
def test_a_method_runs_without_its_data_and_model(step: str, expected: set[tuple[str, int]]) -> None:
    assert codes(STEP.format(step=step)) == expected


def test_conditions_are_tried_both_ways() -> None:
    source = """
        def train(model, loader, optimizer, scaler, criterion, config):
            for x, y in loader:
                loss = criterion(model(x), y)
                scaler.scale(loss).backward()
                if config.unusual and not config.usual:
                    optimizer.step()
                else:
                    scaler.step(optimizer)
                    scaler.update()
                optimizer.zero_grad()
    """
    assert ("AMP101", 7) in codes(source)


def test_gradients_flow_only_where_the_program_lets_them() -> None:
    source = """
        import torch

        def gan(G, D, loader, bce):
            opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
            scaler = torch.amp.GradScaler("cuda")
            for real in loader:
                fake = G(torch.randn(8, 4))
                opt_d.zero_grad()
                scaler.scale(bce(D(real)) + bce(D(fake.detach()))).backward()
                scaler.step(opt_d)
                opt_g.zero_grad()
                scaler.scale(bce(D(fake))).backward()
                scaler.step(opt_g)
                scaler.update()
    """
    assert codes(source) == set()
    assert codes(source.replace("scaler.step(opt_g)", "opt_g.step()")) == {("AMP101", 14)}


def test_an_optimizer_of_another_model_has_no_part_in_a_run() -> None:
    source = """
        import torch

        def train(name, loader, scaler, limit):
            if name == "new":
                model = Transformer()
            else:
                model = Transformer.from_pretrained(name)
            optimizer = model.configure_optimizers(lr=1e-3)
            for x in loader:
                scaler.scale(model(x)).backward()
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
                scaler.step(optimizer)
                scaler.update()
    """
    assert codes(source) == set()
    assert codes(source.replace("scaler.unscale_(optimizer)", "pass")) == {("AMP103", 13)}


SHOWN = {
    "a number that has a default may be another": """
        import torch

        def train(model, loader, optimizer, scaler, max_norm=0.0):
            for x in loader:
                scaler.scale(model(x)).backward()
                if max_norm > 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # AMP103
                scaler.step(optimizer)
                scaler.update()
    """,
    "clipping by timm": """
        from timm.utils import dispatch_clip_grad

        def train(model, loader, optimizer, scaler):
            for x in loader:
                scaler.scale(model(x)).backward()
                dispatch_clip_grad(model.parameters(), 1.0)  # AMP103
                scaler.step(optimizer)
                scaler.update()
    """,
    "a method is called again": """
        import torch

        class Engine:
            def __init__(self, model):
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                self.scaler = torch.amp.GradScaler("cuda")

            def train_batch(self, loss):
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)  # AMP102
    """,
    "a gradient becomes something unknown": """
        import torch

        def train(model, loader, optimizer, scaler, sigma):
            for x in loader:
                scaler.scale(model(x)).backward()
                for p in model.parameters():
                    p.grad = p.grad + sigma * torch.randn_like(p.grad)  # AMP104
                scaler.step(optimizer)
                scaler.update()
    """,
    "a scaler that scales nothing": """
        def train(model, loader, optimizer, scaler):
            batches = iter(loader)
            for _ in range(len(loader)):
                batch = {key: value.cuda() for key, value in next(batches).items()}
                model(batch["input_ids"]).backward()  # AMP105
                scaler.step(optimizer)
                scaler.update()
    """,
    "a schedule": """
        import torch

        def train(model, loader, scaler):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
            for x in loader:
                scaler.scale(model(x)).backward()
                schedule.step()  # AMP116
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
    """,
    "a function made for others": """
        def create_trainer(model, optimizer, scaler):
            def train_step(engine, batch):
                scaler.scale(model(batch)).backward()
                optimizer.step()  # AMP101

            return Engine(train_step)
    """,
    "parameters chosen by name": """
        def train(model, loader, scaler):
            chosen = []
            for name, parameter in model.named_parameters():
                parameter.requires_grad = "head" in name
                if parameter.requires_grad:
                    chosen.append(parameter)
            if len(chosen) == 0:
                raise ValueError("nothing to train in %s, %s" % (model,))
            optimizer = FusedAdam(chosen)
            for x in loader:
                scaler.scale(model(x)).backward()
                optimizer.step()  # AMP101
    """,
    "a scaler that somebody made": """
        from torch.cuda.amp import GradScaler

        def train(args, loader):
            model, optimizer, scaler = build(args)
            for x in loader:
                if len(x) == 0:
                    continue
                scaler.scale(model(x)).backward()
                optimizer.step()  # AMP101
    """,
    "an object below itself": """
        def train(model, loader, optimizer, scaler):
            model.head.model = model
            for x in loader:
                scaler.scale(model(x)).backward()
                optimizer.step()  # AMP101
    """,
    "checks that fail come first": """
        def train(model, loader, optimizer, scaler, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p):
            for bad in (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p):
                if bad:
                    raise ValueError(bad)
            for x in loader:
                scaler.scale(model(x)).backward()
                optimizer.step()  # AMP101
    """,
}


@pytest.mark.parametrize("source", SHOWN.values(), ids=SHOWN)
def test_what_training_code_is_made_of(source: str) -> None:
    rows = list(enumerate(source.splitlines(), 1))
    expected = {(line.rpartition("# ")[2], row) for row, line in rows if "# AMP" in line}
    assert expected <= codes(source)


def test_one_path_that_goes_on_for_ever_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "MAX_SECONDS", 0.1)
    monkeypatch.setattr(rehearsal, "GRACE", 0.1)
    (run,) = rehearse("def train(optimizer):\n    optimizer.step(sum(map(lambda n: 0, range(10**12))))\n", "loop.py")
    assert run.obstacle == "it takes too long"


RUNNABLE = [
    path
    for path in sorted(FIXTURES.glob("*/*.py"))
    if path.parent.name in ("clean", "step-bypasses-scaler", "missing-update")
]


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_fixtures(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(path)]) == int(path.stem.endswith(".before"))
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("Ran ")


OPENED = "['__builtins__']['open']('written', 'w')"
MADE = "['sys'].modules['os'].mkdir('written')"
REACHES = {
    "write": "open('written', 'w').write('x')",
    "pathlib": "from pathlib import Path; Path('written').write_text('x')",
    "torch": "torch.save(model.state_dict(), 'written'); torch.load('beside.py')",
    "system": "import os; os.system('touch written')",
    "os in contextlib": "import contextlib; contextlib.os.system('touch written')",
    "os of contextlib": "from contextlib import os; os.open('written', os.O_CREAT | os.O_WRONLY)",
    "sys in contextlib": "import contextlib; contextlib.sys.modules['io'].open('written', 'w')",
    "subprocess": "import subprocess; subprocess.run(['touch', 'written'])",
    "user module": "import beside",
    "__import__": "__import__('beside'); __import__('os').mkdir('written')",
    "importlib": "import importlib; importlib.import_module('beside')",
    "__builtins__": "__builtins__['open']('written', 'w'); __builtins__['__loader__'].load_module('os').fork()",
    "__loader__": "__loader__.load_module('posix').mkdir('written')",
    "eval": 'eval(\'open("written", "w")\'); exec(\'open("written", "w")\')',
    "globals of a function": "import functools; functools.wraps.__globals__" + OPENED,
    "globals by getattr": "import functools; getattr(functools.wraps, '__glob' + 'als__')" + OPENED,
    "globals by match": "import functools\n"
    "    match functools.wraps:\n        case object(__globals__=found):\n            found" + OPENED,
    "subclasses": "[c for c in object.__subclasses__() if 'wrap' in c.__name__][0].__init__.__globals__['fork']()",
    "frames": "try:\n        {}[1]\n    except KeyError as error:\n        error.__traceback__.tb_frame.f_globals"
    + OPENED,
    "the stand-in itself": "model._si_world.__init__.__globals__['sys'].modules['os'].mkdir('written')",
    "the helper itself": "__amplint__._world.__init__.__globals__['sys'].modules['os'].mkdir('written')",
    "tensors": "next(iter(model.parameters())).untyped_storage().from_file('written', True, 4)",
    "shared memory": "next(iter(model.parameters())).share_memory_()",
    "network": "import socket; socket.create_connection(('127.0.0.1', 1))",
    "mmap": "import mmap; mmap.mmap(-1, 4096)",
    "ctypes": "import ctypes; ctypes.CDLL(None).mkdir(b'written', 511)",
    "fork": "import os; os.fork()",
    "threads": "import threading, os; threading.Thread(target=os.mkdir, args=('written',)).start()",
    "input": "input(); import sys; sys.stdin.read()",
    "leaving": "raise SystemExit(3)",
    "leaving at once": "import os; os._exit(3)",
}


@pytest.mark.parametrize("statement", REACHES.values(), ids=REACHES.keys())
def test_nothing_outside_is_reached(statement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "beside.py").write_text("open('written', 'w')\n")
    body = f"def train(model, scaler, optimizer):\n    {statement}\n    optimizer.step()\n"
    body = "import torch\nopen('written', 'w')\n" + body
    (rehearsal,) = rehearse(body, str(tmp_path / "loop.py"), "train")
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["beside.py"]
    assert rehearsal.finished or rehearsal.ends


GUARDED: dict[str, Callable[[str], object]] = {
    "open": lambda path: open(path, "w"),
    "reading": lambda _: open(__file__),
    "os.open": lambda path: os.open(path, os.O_CREAT | os.O_WRONLY),
    "io.FileIO": lambda path: io.FileIO(path, "w"),
    "os.mkdir": lambda path: os.mkdir(path),
    "os.mkfifo": lambda path: os.mkfifo(path),
    "pathlib": lambda path: Path(path).touch(),
    "os.listdir": lambda path: os.listdir(os.path.dirname(path)),
    "os.remove": lambda _: os.remove(__file__),
    "os.write": lambda _: os.write(1, b"said"),
    "os.environ": lambda path: os.environ.update(AMPLINT=path),
    "os.system": lambda path: os.system(f"touch {path}"),
    "subprocess": lambda path: subprocess.run(["touch", path]),
    "os.fork": lambda _: os.fork(),
    "os._exit": lambda _: os._exit(1),
    "os.abort": lambda _: os.abort(),
    "signals": lambda _: signal.raise_signal(signal.SIGTERM),
    "thread": lambda path: threading.Thread(target=os.mkdir, args=(path,)).start(),
    "timer": lambda path: threading.Timer(0.1, os.mkdir, (path,)).start(),
    "process": lambda path: multiprocessing.Process(target=os.mkdir, args=(path,)).start(),
    "atexit": lambda path: atexit.register(os.mkdir, path),
    "socket": lambda _: socket.socket(),
    "mmap": lambda _: mmap.mmap(-1, 4096),
    "ctypes": lambda _: ctypes.CDLL(None),
    "import": lambda _: importlib.machinery.SourceFileLoader("loop", __file__).get_data(__file__),
    "pickle": lambda path: pickle.loads(b"cos\nmkdir\n(V%s\ntR." % path.encode()),
    "torch.save": lambda path: torch.save({}, path),
    "torch.load": lambda _: torch.load(__file__),
    "torch's own files": lambda path: torch._C.PyTorchFileWriter(path),
    "torch.from_file": lambda path: torch.from_file(path, shared=True, size=4),
    "storage": lambda path: torch.UntypedStorage.from_file(path, True, 4),
    "share_memory_": lambda _: torch.ones(1).share_memory_(),
}


@pytest.mark.parametrize("reach", GUARDED.values(), ids=GUARDED.keys())
def test_the_guard_itself(reach: Callable[[str], object], tmp_path: Path) -> None:
    with guard(), pytest.raises(Refused):
        reach(str(tmp_path / "written"))
    (tmp_path / "x").write_text("")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert threading.Thread(target=int).start() is None


def test_a_loop_without_end_ends() -> None:
    assert codes("def train(optimizer, scaler):\n    while True:\n        optimizer.step()\n") == set()


def test_functions_are_found_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(STEP.format(step="self.optimizer.step()")))
    assert main([f"{script}::Engine.epoch"]) == 1
    assert ":18:" in capsys.readouterr().out
    with pytest.raises(NothingToRun, match="has no function `fit`"):
        rehearse(script.read_text(), str(script), "fit")
    assert main([f"{script}::fit"]) == 2
    assert main([str(tmp_path / "absent.py")]) == 2


def test_of_a_notebook_the_cell_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loop = """\
        scaler = torch.amp.GradScaler("cuda")
        def train(model, optimizer, loader):
            for x in loader:
                scaler.scale(model(x).mean()).backward()
                optimizer.step()
                optimizer.zero_grad()
    """
    sources = ["import torch", textwrap.dedent(loop)]
    cells = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
        for source in sources
    ]
    notebook = tmp_path / "train.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    assert main([str(notebook)]) == 1
    assert "train.ipynb:cell 2:5:9: AMP101" in capsys.readouterr().out


def test_a_file_in_which_nothing_trains_is_no_clean_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "helpers.py"
    path.write_text("import torch\n\n\ndef half(x):\n    return x / 2\n")
    assert main([str(path)]) == 2
    assert "no function here trains" in capsys.readouterr().err
