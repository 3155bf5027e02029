"""Rules on where values come from look into what a document imports from its project."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from amplint.documents import Document
from amplint.findings import Finding
from amplint.fixer import Fixer
from amplint.merging import merge
from amplint.modules import Modules
from amplint.registry import installed

RULES = [rule for rule in installed().rules if rule.code not in ("AMP901", "AMP902")]
SAVER = """import torch


def save_checkpoint(path, model, optimizer):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path)
"""
WHOLE_SAVER = SAVER.replace("optimizer):", "optimizer, scaler):").replace(
    "optimizer.state_dict()}", 'optimizer.state_dict(), "scaler": scaler.state_dict()}'
)
TRAIN = """import torch
{imports}


def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(x).float().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        {save}
"""


def found(folder: Path, text: str, **files: str) -> list[Finding]:
    (folder / "pyproject.toml").touch()
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content)
    (folder / "main.py").write_text(text)
    return list(Fixer(RULES, RULES).lint(Document.read(folder / "main.py")).findings)


def places(findings: list[Finding]) -> list[tuple[str, int]]:
    return [(finding.code, finding.start.row) for finding in findings]


@pytest.mark.parametrize(
    "imports",
    [
        "from saver import save_checkpoint",
        "from saver import other, save_checkpoint",
        "from saver import save_checkpoint, other",
        "from saver import (other, save_checkpoint, third)",
        "from .saver import save_checkpoint",
    ],
)
def test_imported_saver_without_the_scaler(tmp_path: Path, imports: str) -> None:
    text = TRAIN.format(imports=imports, save='save_checkpoint("a.pt", model, optimizer)')
    findings = found(tmp_path, text, saver=SAVER)
    assert places(findings) == [("AMP115", 16)]
    there, scaler = findings[0].related
    assert there.filename == str(tmp_path / "saver.py") and there.start.row == 5
    assert scaler.filename is None and scaler.start.row == 7
    assert findings[0].fix is None and findings[0].no_fix_reason == "a part of it stands in another file"


def test_import_of_several_rows_and_another_name(tmp_path: Path) -> None:
    imports = "from saver import (  # what is saved\n    other,\n    save_checkpoint as save,  # this\n)"
    text = TRAIN.format(imports=imports, save='save("a.pt", model, optimizer)')
    assert places(found(tmp_path, text, saver=SAVER)) == [("AMP115", 19)]


def test_imported_saver_with_the_scaler_is_silent(tmp_path: Path) -> None:
    text = TRAIN.format(
        imports="from saver import save_checkpoint", save='save_checkpoint("a.pt", model, optimizer, scaler)'
    )
    assert found(tmp_path, text, saver=WHOLE_SAVER) == []


def test_saver_behind_another_file(tmp_path: Path) -> None:
    text = TRAIN.format(imports="from tools import save", save="save(model, optimizer)")
    tools = "from saver import save_checkpoint\n\n\ndef save(model, optimizer):\n"
    tools += '    save_checkpoint("a", model, optimizer)\n'
    findings = found(tmp_path, text, saver=SAVER, tools=tools)
    assert places(findings) == [("AMP115", 16)]
    assert findings[0].related[0].filename == str(tmp_path / "saver.py")


def test_name_that_the_document_uses_otherwise_stays_unknown(tmp_path: Path) -> None:
    saver = SAVER.replace("torch.save(state, path)", "write(state, path)") + (
        "\n\ndef write(state, path):\n    torch.save(state, path)\n"
    )
    text = TRAIN.format(imports="from saver import save_checkpoint", save='save_checkpoint("a.pt", model, optimizer)')
    assert places(found(tmp_path, text, saver=saver)) == [("AMP115", 16)]
    assert found(tmp_path, text + "\n\nwrite = 1\n", saver=saver) == []


def test_refused_loss_in_an_imported_module(tmp_path: Path) -> None:
    net = """import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return F.binary_cross_entropy(torch.sigmoid(self.linear(x)), torch.ones(2))
"""
    text = """import torch
from net import Net


def run(x):
    net = Net().cuda()
    with torch.autocast("cuda", dtype=torch.float16):
        return net(x)
"""
    findings = [finding for finding in found(tmp_path, text, net=net) if finding.code == "AMP303"]
    assert places(findings) == [("AMP303", 6)]
    assert [(place.filename, place.start.row) for place in findings[0].related] == [
        (str(tmp_path / "net.py"), 12),
        (None, 7),
    ]
    inside = net.replace("return F.", "with torch.autocast('cuda'):\n            return F.")
    assert [f for f in found(tmp_path, text, net=inside) if f.code == "AMP303"] == []  # that file's own fault


def test_fix_of_the_document_is_made_in_the_document(tmp_path: Path) -> None:
    text = TRAIN.format(
        imports="from saver import save_checkpoint", save='save_checkpoint("a.pt", model, optimizer, scaler)'
    ).replace("float16", "bfloat16")
    findings = found(tmp_path, text, saver=WHOLE_SAVER)
    assert places(findings) == [("AMP117", 7)]
    fixed = Fixer(RULES, RULES).fix(Document.read(tmp_path / "main.py"), unsafe=True)
    assert fixed.document.text == text.replace('GradScaler("cuda")', 'GradScaler("cuda", enabled=False)')


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "# é\n"])
def test_merging_keeps_every_character_in_its_place(tmp_path: Path, newline: str, end: str) -> None:
    text = f"# ümlaut\nfrom saver import (\n    a,\n    save_checkpoint, b)\nx = 'é'; save_checkpoint(x)\n{end}"
    text = text.replace("\n", newline)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "saver.py").write_text(SAVER)
    (tmp_path / "main.py").write_text(text, newline="")
    merged = merge(text, Modules(str(tmp_path / "main.py")), lambda text: "state_dict" in text)
    assert merged is not None and merged.own == len(text)
    own = merged.text[: merged.own]
    assert own == text.replace("save_checkpoint,", " " * 16)
    ast.parse(merged.text)
    (part,) = merged.parts
    rows = re.split(r"\r\n|\n", merged.text)
    assert rows[part.row - 1] == "def save_checkpoint(path, model, optimizer):"
    assert SAVER.split("\n")[part.first - 1] == rows[part.row - 1]


def test_finding_stands_at_the_call(tmp_path: Path) -> None:
    other = "from saver import save_checkpoint\n\n\nclass Hooks:\n    save_checkpoint = save_checkpoint\n"
    text = TRAIN.format(imports=other, save='save_checkpoint("a.pt", model, optimizer)')
    findings = found(tmp_path, text, saver=SAVER)
    assert [text.splitlines()[finding.start.row - 1].strip() for finding in findings] == [
        'save_checkpoint("a.pt", model, optimizer)'
    ]


INNER = {
    "in a function": "from saver import save_checkpoint",
    "under a condition": "if torch.cuda.is_available():\n    from saver import save_checkpoint",
    "in a try": "try:\n    from saver import save_checkpoint\nexcept ImportError:\n    pass",
    "by two spellings": (
        "try:\n    from .saver import save_checkpoint\nexcept ImportError:\n    from saver import save_checkpoint"
    ),
    "in a match": "match torch.__version__:\n    case '2':\n        from saver import save_checkpoint",
}


@pytest.mark.parametrize("imports", INNER.values(), ids=INNER)
@pytest.mark.parametrize("place", ["top", "function"])
def test_import_that_is_not_at_the_top(tmp_path: Path, imports: str, place: str) -> None:
    text = TRAIN.format(imports=imports if place == "top" else "", save='save_checkpoint("a.pt", model, optimizer)')
    if place == "function":
        inside = "".join(f"    {line}\n" for line in imports.splitlines())
        text = text.replace("    optimizer =", f"{inside}    optimizer =")
    line = text[: text.index("save_checkpoint(")].count("\n") + 1
    assert places(found(tmp_path, text, saver=SAVER)) == [("AMP115", line)]


@pytest.mark.parametrize(
    "imports",
    [
        "try:\n    from saver import save_checkpoint\nexcept ImportError:\n    save_checkpoint = print",
        "try:\n    from saver import save_checkpoint\nexcept ImportError:\n    from other import save_checkpoint",
        "try:\n    from saver import save_checkpoint\nexcept ImportError:\n    from foreign import save_checkpoint",
        "if torch.cuda.is_available():\n    from saver import save_checkpoint\nelse:\n    def save_checkpoint(*x): ...",
        "from saver import save_checkpoint\nmatch torch.__version__:\n    case save_checkpoint:\n        pass",
    ],
)
def test_import_that_may_bring_something_else_stays_unknown(tmp_path: Path, imports: str) -> None:
    text = TRAIN.format(imports=imports, save='save_checkpoint("a.pt", model, optimizer)')
    assert found(tmp_path, text, saver=SAVER, other=WHOLE_SAVER) == []


def test_name_that_one_function_imports_and_another_binds_stays_unknown(tmp_path: Path) -> None:
    text = TRAIN.format(imports="", save='save_checkpoint("a.pt", model, optimizer)')
    text = text.replace("    optimizer =", "    from saver import save_checkpoint\n    optimizer =")
    assert len(found(tmp_path, text, saver=SAVER)) == 1
    assert found(tmp_path, text + "\n\ndef other(save_checkpoint):\n    save_checkpoint()\n", saver=SAVER) == []


def test_saver_that_imports_what_it_uses_where_it_uses_it(tmp_path: Path) -> None:
    text = TRAIN.format(imports="from tools import save", save="save(model, optimizer)")
    tools = "def save(model, optimizer):\n    from saver import other, save_checkpoint\n\n"
    tools += '    save_checkpoint("a", model, optimizer)\n'
    findings = found(tmp_path, text, saver=SAVER, tools=tools)
    assert places(findings) == [("AMP115", 16)]
    assert findings[0].related[0].filename == str(tmp_path / "saver.py") and findings[0].related[0].start.row == 5


def test_definitions_that_use_each_other_are_followed_when_both_are_imported(tmp_path: Path) -> None:
    saver = (
        SAVER
        + "\n\nclass Saver:\n    def save(self, model, optimizer):\n        save_checkpoint('a', model, optimizer)\n"
    )
    text = TRAIN.format(imports="from saver import Saver, save_checkpoint", save="Saver().save(model, optimizer)")
    assert places(found(tmp_path, text, saver=saver)) == [("AMP115", 16)]
    other = "def save_checkpoint(path, model, optimizer): ...\n"
    text = text.replace(", save_checkpoint", "\nfrom other import save_checkpoint")
    assert found(tmp_path, text, saver=saver, other=other) == []


NET = """import torch
import torch.nn.functional as F
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight.t(), x.t() @ grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.weight = nn.Parameter(torch.ones(2, 2))
        self.lstm = nn.LSTM(2, 2)

    def forward(self, x):
        x = self.linear(x)
        return {result}


def loss_of(outputs):
    return F.cross_entropy(outputs, outputs.argmax(-1))
"""
RUN = """import torch
import torch.nn.functional as F
from net import Net, loss_of


def run(x):
    net = Net().to(x.device)
    with torch.autocast({region}):
        out = net(x)
{after}"""
REGION = '"cuda", dtype=torch.float16'
ISLAND = 'with torch.autocast("cuda", enabled=False):'


@pytest.mark.parametrize(
    ("result", "region", "after", "expected"),
    [
        ("x.masked_fill(x > 0, -1e9)", REGION, "", [("AMP401", 7)]),
        ("x / (x + 1e-8)", REGION, "", [("AMP402", 7)]),
        ("Scale.apply(x, self.weight)", REGION, "", [("AMP306", 7)]),
        ("self.lstm(x)", '"cpu", dtype=torch.float16', "", [("AMP304", 8)]),
        ("x", REGION, "    return loss_of(out)\n", [("AMP309", 10)]),
        ("x", REGION, "    return F.kl_div(out, net(x).half())\n", [("AMP309", 10)]),
        (
            "x",
            REGION,
            "        with torch.autocast('cuda', enabled=False):\n            loss_of(out)\n",
            [("AMP308", 11)],
        ),
        ("x.float()", REGION, "    return loss_of(out)\n", []),
        ("x.float().masked_fill(x > 0, -1e9)", REGION, "", []),
        ("x.masked_fill(x > 0, -1e4)", REGION, "", []),
    ],
)
def test_half_tensors_in_imported_modules(
    tmp_path: Path, result: str, region: str, after: str, expected: list[tuple[str, int]]
) -> None:
    text = RUN.format(region=region, after=after)
    assert places(found(tmp_path, text, net=NET.replace("{result}", result))) == expected
