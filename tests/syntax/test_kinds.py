"""What kind of value an expression has: by its document, and by nothing that the document leaves open."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.syntax.kinds import Kind, Kinds, Possible, Value
from amplint.syntax.names import Names
from amplint.syntax.tree import SyntaxTree


def asked(text: str) -> tuple[Kinds, cst.BaseExpression]:
    """The kinds of a document, and what it gives to ``probe``."""
    names = Names(SyntaxTree(f"import torch\n{text}\n"))
    calls = [node for node in names.parents if isinstance(node, cst.Call) and isinstance(node.func, cst.Name)]
    (probe,) = [call for call in calls if call.func.value == "probe"]
    return Kinds(names), probe.args[0].value


def possible(text: str) -> Possible:
    kinds, node = asked(text)
    return kinds.possible(node)


def kinds_of(text: str) -> set[str]:
    return {kind.value for kind in possible(text).kinds}


BOOL, NUMBER, STRING, DEVICE, DTYPE, NONE, UNKNOWN = (
    {kind.value} for kind in (Kind.BOOL, Kind.NUMBER, Kind.STRING, Kind.DEVICE, Kind.DTYPE, Kind.NONE, Kind.UNKNOWN)
)


@pytest.mark.parametrize(
    "expression, kinds",
    [
        ("a < b", BOOL),
        ("not a", BOOL),
        ("-1", NUMBER),
        ("2.0 ** 16", NUMBER),
        ("2 * scale", UNKNOWN),
        ("a + b", UNKNOWN),
        ("'cuda:' + rank", STRING),
        ("'cuda:%d' % rank", STRING),
        ("'cu' 'da'", STRING),
        ("b'cuda'", UNKNOWN),
        ("(flag := True)", BOOL),
        ("lambda: True", {"a function"}),
        ("(lambda: True)()", UNKNOWN),
        ("torch.device()", DEVICE),
        ("torch.device(*where)", DEVICE),
        ("torch.cuda.device_count()", NUMBER),
        ("str(rank)", STRING),
        ("'cuda:{}'.format(0)", STRING),
        ("{}['missing']", UNKNOWN),
        ("{'fp16': torch.float16, 'bf16': torch.bfloat16}[name]", DTYPE),
        ("{**more, 'fp16': torch.float16}[name]", UNKNOWN),
        ("True or None", BOOL | NONE),
        ("undefined", UNKNOWN),
        ("undefined.device", UNKNOWN),
        ("batch['image'].device", UNKNOWN),
        ("next(model.parameters()).device", DEVICE),
        ("self.model.device", DEVICE),
        ("self.model.dtype", DTYPE),
    ],
)
def test_expressions(expression: str, kinds: set[str]) -> None:
    assert kinds_of(f"probe({expression})") == kinds


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("from torch import float16 as half\nprobe(half)", DTYPE),
        ("flag: bool = load()\nprobe(flag)", UNKNOWN),
        ("flag: bool\nprobe(flag)", BOOL),
        ("import json as flag\nprobe(flag)", UNKNOWN),
        ("for flag in flags:\n    probe(flag)", UNKNOWN),
        ("device, flag = 'cuda', True\nprobe(flag)", BOOL),
        ("[device, *rest] = 'cuda', True\nprobe(device)", UNKNOWN),
        ("flag = True\nflag = 1\nprobe(flag)\nflag = 'x'", NUMBER),
        ("flag = True; flag = 1; probe(flag)", BOOL | NUMBER),
        ("probe(flag)\nflag = True\nflag = 1", BOOL | NUMBER),
        ("flag = True\nwhile run():\n    probe(flag)\n    flag = 1", BOOL | NUMBER),
        ("flag = True\nif run():\n    flag = 1\nprobe(flag)", BOOL | NUMBER),
        ("flag = flag\nprobe(flag)", UNKNOWN),
    ],
)
def test_names_have_what_is_assigned_to_them(text: str, kinds: set[str]) -> None:
    assert kinds_of(text) == kinds


@pytest.mark.parametrize(
    "parameter, call, kinds",
    [
        ("flag: bool", "", BOOL),
        ("flag: 'bool'", "", BOOL),
        ("flag: 'Flag'", "", UNKNOWN),
        ("flag: Flag", "", UNKNOWN),
        ("flag: bool | None = None", "", BOOL | NONE),
        ("flag: Optional[bool] = None", "", BOOL | NONE),
        ("flag: typing.Union[bool, str]", "", BOOL | STRING),
        ("flag: list[bool]", "", UNKNOWN),
        ("flag: bool = 'auto'", "", UNKNOWN),
        ("flag: torch.dtype", "", DTYPE),
        ("*flag", "train(True)", UNKNOWN),
        ("flag", "", UNKNOWN),
        ("flag", "train(True)", BOOL),
        ("flag", "train(flag=1)", NUMBER),
        ("flag", "train(True)\ntrain(flag=1)", BOOL | NUMBER),
        ("flag", "train()", UNKNOWN),
        ("flag", "train(*given)", UNKNOWN),
        ("flag", "run(train)", UNKNOWN),
        ("flag=None", "train()\ntrain('x')", NONE | STRING),
        ("flag=True", "train('x')", BOOL),
    ],
)
def test_parameters_have_their_annotation_or_what_is_given(parameter: str, call: str, kinds: set[str]) -> None:
    assert kinds_of(f"def train({parameter}):\n    probe(flag)\n{call}") == kinds


def test_what_a_decorator_gives_is_not_seen() -> None:
    assert kinds_of("@main\ndef train(flag):\n    probe(flag)\ntrain(True)") == UNKNOWN


@pytest.mark.parametrize(
    "body, kinds",
    [
        ("return True", BOOL),
        ("if x:\n        return True\n    return None", BOOL | NONE),
        ("if x:\n        return True\n    return", BOOL | NONE),
        ("yield True", UNKNOWN),
        ("print()", UNKNOWN),
        ("def inner():\n        return 1\n    return True", BOOL),
    ],
)
def test_calls_have_what_the_function_returns(body: str, kinds: set[str]) -> None:
    assert kinds_of(f"def choose():\n    {body}\nprobe(choose())") == kinds
    assert kinds_of(f"async def choose():\n    {body}\nprobe(choose())") == UNKNOWN
    assert kinds_of(f"@cache\ndef choose():\n    {body}\nprobe(choose())") == UNKNOWN


@pytest.mark.parametrize(
    "body, attribute, kinds",
    [
        ("self.flag = True", "flag", BOOL),
        ("self.name, self.flag = 'x', True", "flag", BOOL),
        ("self.flag = load()", "flag", UNKNOWN),
        ("self.other = True", "flag", UNKNOWN),
    ],
)
def test_attributes_have_what_the_class_assigns(body: str, attribute: str, kinds: set[str]) -> None:
    text = (
        f"class Trainer:\n    def __init__(self):\n        {body}\n    def fit(self):\n        probe(self.{attribute})"
    )
    assert kinds_of(text) == kinds


@pytest.mark.parametrize(
    "head, body, attribute, kinds",
    [
        ("", "flag: bool", "flag", BOOL),
        ("", "flag, name = True, 'x'", "flag", UNKNOWN),
        ("", "@property\n    def flag(self):\n        return True", "flag", BOOL),
        ("", "@setting\n    def flag(self):\n        return True", "flag", UNKNOWN),
        ("", "def before(self): pass\n    @cached_property\n    def flag(self):\n        return True", "flag", BOOL),
        ("(pl.LightningModule)", "limit = 1", "device", DEVICE),
        ("(pl.LightningModule)", "limit = 1", "kind", UNKNOWN),
        ("(Base)", "limit = 1", "device", UNKNOWN),
    ],
)
def test_attributes_of_a_class(head: str, body: str, attribute: str, kinds: set[str]) -> None:
    text = f"class Trainer{head}:\n    {body}\n    def fit(self):\n        probe(self.{attribute})"
    assert kinds_of(text) == kinds


@pytest.mark.parametrize(
    "use, kinds",
    [
        ("y.view(2)", DEVICE),
        ("y.shape", DEVICE),
        ("y.shape(2)", UNKNOWN),
        ("y.view", UNKNOWN),
        ("y.epochs", UNKNOWN),
        ("y", UNKNOWN),
    ],
)
def test_what_shows_to_be_a_tensor_has_a_device(use: str, kinds: set[str]) -> None:
    assert kinds_of(f"def train(y):\n    {use}\n    probe(y.device)") == kinds
    assert kinds_of(f"def train(args):\n    {use.replace('y', 'args', 1)}\n    probe(args.device)") == UNKNOWN


def test_what_a_device_is_called() -> None:
    assert possible("device = torch.device('cuda', 0)\nprobe(device)").values == {Value(Kind.DEVICE, "cuda:*")}
    assert possible("device = torch.device('cuda:1')\nprobe(device.type)").values == {Value(Kind.STRING, "cuda")}
    assert possible("probe(f'cuda:{rank}')").values == {Value(Kind.STRING, "cuda:*")}


@pytest.mark.parametrize(
    "expression, answer",
    [
        ("get_device()", True),
        ("str(self.device)", True),
        ("str(a, b)", False),
        ("args.device.type", True),
        ("'cuda'", True),
        ("'gpu'", False),
        ("str(where)", False),
        ("use_device_map.x()", False),
        ("[device]", False),
    ],
)
def test_devices_by_their_names(expression: str, answer: bool) -> None:
    kinds, node = asked(f"probe({expression})")
    assert kinds.is_device(node) is answer


@pytest.mark.parametrize(
    "before, name, answer",
    [
        ("", "use_amp", True),
        ("", "self.autocast_enabled", True),
        ("", "amp_dtype", False),
        ("", "flags[0]", False),
        ("use_amp = 1", "use_amp", False),
        ("use_amp = torch.float16 if dtype == 'half' else None", "use_amp", False),
        ("", "args.fp16", False),
        ("if args.fp16:\n    model.half()", "args.fp16", True),
        ("model = model.half() if args.fp16 else model", "args.fp16", True),
        ("scaler = GradScaler(enabled=args.fp16)", "args.fp16", True),
        ("scaler = build(args.fp16)", "args.fp16", False),
        ("plain = not args.fp16", "args.fp16", True),
        ("parser.add_argument('--fp16', action='store_true')", "args.fp16", True),
        ("parser.add_argument('--fp16', action='append')", "args.fp16", False),
        ("parser.add_argument('--bf16', action='store_true')", "args.fp16", False),
    ],
)
def test_flags_by_their_names(before: str, name: str, answer: bool) -> None:
    kinds, node = asked(f"{before}\nprobe({name})")
    assert kinds.is_flag(node) is answer


@pytest.mark.parametrize(
    "before, name, answer",
    [
        ("", "args.loss_scale", True),
        ("", "scale_device", False),
        ("loss_scale = 'dynamic'", "loss_scale", False),
        ("loss_scale = 2.0 ** 16", "loss_scale", True),
        ("", "epochs", False),
    ],
)
def test_scales_by_their_names(before: str, name: str, answer: bool) -> None:
    kinds, node = asked(f"{before}\nprobe({name})")
    assert kinds.is_scale(node) is answer
