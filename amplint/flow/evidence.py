"""What the file as a whole says about which objects are scalers and optimizers.

An object is recognised by how it is built, by its annotation, or, where neither is to be seen, by how it is used: a
value whose ``unscale_(optimizer)`` is called, or whose ``scale(loss)`` is backpropagated and which then steps an
optimizer, is a gradient scaler; what it steps is an optimizer. A name alone is never enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable

from amplint.flow import program as ir
from amplint.flow.values import Key, LearntMore, spelled_out
from amplint.flow.vocabulary import BOUND_METHODS, FRAMEWORKS, GRAD_SCALERS

_FRAMEWORK_IMPORT = re.compile(rf"^[ \t]*(?:from|import)\s+(?:{'|'.join(sorted(FRAMEWORKS))})\b", re.MULTILINE)
_FOREIGN_SCALER_IMPORT = re.compile(
    r"^[ \t]*from[ \t]+(?!torch\b|sklearn\b)[\w.]+\s+import\s[^#\n]*Scaler\b", re.MULTILINE
)


class Evidence:
    """Grows while paths are explored; exploring starts again until it grows no more."""

    def __init__(self, program: ir.Program, text: str) -> None:
        self.scalers: set[Key] = set()
        self.optimizers: set[Key] = set()
        self.not_scalers: set[Key] = set()
        self.updated: set[Hashable] = set()
        self.escaped: set[Hashable] = set()
        names = Counter(function.name for function in program.functions)
        self._functions = {f.name for f in program.functions if f.owner is None and names[f.name] == 1}
        """Functions that no other is called like: what their parameters are given is met on walks of theirs only."""
        self._private = 0
        """How many of the objects that are known are such."""
        self.denied: set[tuple[str, Hashable]] = set()
        """What was asked since a walk began and was not known: its results hold for as long as it is not."""
        self._signs: dict[Hashable, set[str]] = {}
        self.plain_backward = False
        self.size = 0
        self.updated_names = {
            node.func.base.attr if isinstance(node.func.base, ir.Attribute) else node.func.base.id
            for function in program.everything
            for statement in function.body
            for node in ir.walk(statement)
            if isinstance(node, ir.Call)
            and isinstance(node.func, ir.Attribute)
            and node.func.attr == "update"
            and isinstance(node.func.base, (ir.Attribute, ir.Name))
        }
        """What the objects are called whose ``update`` is called anywhere in the file."""
        self.has_foreign_scalers = any(
            isinstance(node, ir.Call) and _makes_foreign_scaler(node)
            for function in program.everything
            for statement in function.body
            for node in ir.walk(statement)
        )
        """Whether scalers of other classes are built, too: any may stand behind a name, and has its own ways."""
        self._classes = [cls for cls in program.classes if cls.home == 0]
        self._called = program.called
        home_made = any(
            "unscale_" in c.methods or {"scale", "update"} <= c.methods.keys() or _changes_scaler(c)
            for c in program.classes
        )
        self.strangers_trusted = not (
            home_made or _FRAMEWORK_IMPORT.search(text) or _FOREIGN_SCALER_IMPORT.search(text)
        )

    @property
    def version(self) -> tuple[int, ...]:
        """A number of what any walk depends on: nothing is ever forgotten, so equal versions say the same."""
        objects = len(self.scalers) + len(self.optimizers) - self._private
        return objects, len(self.not_scalers), self.plain_backward

    @property
    def extent(self) -> tuple[int, ...]:
        """A number of all objects that are known."""
        return len(self.scalers), len(self.optimizers), self.plain_backward

    def know(self, known: set[Key], key: Key) -> bool:
        """Add an object to those ``known`` of its kind; false where it was among them."""
        if key in known:
            return False
        known.add(key)
        self._private += _function_of(key) in self._functions
        return True

    def would_deny(self, denied: Iterable[tuple[str, Hashable]]) -> bool:
        """Whether what was asked and was not known is still not known."""
        return not any(self._answer(question, key) for question, key in denied)

    def has_escaped(self, scaler: Hashable) -> bool:
        """Whether something unseen was given the scaler."""
        return self._asked("escaped", scaler)

    def was_updated(self, scaler: Hashable) -> bool:
        """Whether the scaler was updated anywhere."""
        return self._asked("updated", scaler)

    def _asked(self, question: str, key: Hashable) -> bool:
        answer = self._answer(question, key)
        if not answer:
            self.denied.add((question, key))
        return answer

    def _answer(self, question: str, key: Hashable) -> bool:
        if question == "escaped":
            return key in self.escaped
        if question == "updated":
            return key in self.updated
        return "stepped" in self._signs.get(key, ())

    def class_of(self, name: str) -> ir.Class | None:
        """The class of this file that objects of this name are of: the only one with all methods called on them.

        One method of a common name proves nothing; two that no other class has both of do.
        """
        called = self._called.get(name, frozenset())
        if len(called) < 2:
            return None
        classes = [cls for cls in self._classes if called <= cls.methods.keys()]
        return classes[0] if len(classes) == 1 else None

    def used_as_scaler(self, key: Key, sign: str) -> None:
        """Count a call that a scaler has: ``unscale_``, ``step``, ``update`` or a backpropagated ``scale``."""
        if not self.strangers_trusted or key in self.scalers or _is_part_of_a_stranger(key):
            return
        signs = self._signs.setdefault(key, set())
        signs.add(sign)
        named = "scaler" in name_of(key).lower()
        if "unscale_" in signs or ("scale" in signs and (named or "step" in signs)):
            self._grow(self.scalers, key)

    def used_as_optimizer(self, key: Key, sign: str) -> None:
        """Count a call that an optimizer has: being stepped by a scaler, ``zero_grad`` or ``step``."""
        signs = self._signs.setdefault(key, set())
        signs.add(sign)
        # clearing gradients and stepping is an optimizer's business; a step alone is what many things take
        if (
            "stepped" in signs
            or {"zero_grad", "step"} <= signs
            or ("step" in signs and _is_optimizer_name(name_of(key)))
        ):
            self._grow(self.optimizers, key)

    def note_stepped(self, optimizer: Key) -> None:
        """A scaler steps this optimizer, which was known for one already."""
        signs = self._signs.setdefault(optimizer, set())
        if "stepped" not in signs:
            signs.add("stepped")
            self.size += 1

    def note_plain_backward(self) -> None:
        """Some loss is backpropagated that no scaler is seen to have scaled."""
        if not self.plain_backward:
            self.plain_backward = True
            self.size += 1
            raise LearntMore

    def is_scaled_only(self, optimizer: Key) -> bool:
        """Whether all gradients of an optimizer are scaled: a scaler steps it elsewhere, and nothing else goes back."""
        return not self.plain_backward and self._asked("stepped", optimizer)

    def _grow(self, known: set[Key], key: Key) -> None:
        if self.know(known, key):
            self.size += 1
            raise LearntMore


_OPTIMIZER_NAME = re.compile(
    r"(?i:^_?(opt|optim|optimizer|optimiser)s?$|_(opt|optim|optimizer|optimiser)$|^(opt|optim|optimizer|optimiser)_)"
    r"|^(opt|optim|optimizer)([A-Z]|\d+$)|[a-z](Opt|Optim|Optimizer)$"
)


def _is_optimizer_name(name: str) -> bool:
    """Whether nothing else that has a ``step()`` is called so."""
    return bool(_OPTIMIZER_NAME.search(name))


_SCALER_CLASS = re.compile(r"(^|_|[a-z])Scaler([A-Z]|$)")


def _makes_foreign_scaler(call: ir.Call) -> bool:
    """Whether something is built that is called a scaler and is not PyTorch's; scalers of data are called so, too."""
    func = call.func
    name = func.attr if isinstance(func, ir.Attribute) else func.id if isinstance(func, ir.Name) else ""
    return bool(_SCALER_CLASS.search(name)) and not call.func_externals() & GRAD_SCALERS


def _changes_scaler(cls: ir.Class) -> bool:
    """Whether a class derives from PyTorch's scaler and has its own way with the protocol."""
    bases = (base.external for base in cls.bases if isinstance(base, (ir.Name, ir.Attribute)))
    return any(names & GRAD_SCALERS for names in bases) and bool(cls.methods.keys() & BOUND_METHODS)


def name_of(key: Key) -> str:
    """The identifier by which the program reaches a value."""
    key = spelled_out(key)
    if key and key[0] in ("param", "local", "global", "variable", "attribute"):
        return str(key[2])
    if key and key[0] in ("element", "item"):
        return name_of(key[1])
    return ""


def _function_of(key: Key) -> str:
    """The function of which a parameter is, or has, what the key stands for; nothing where none is."""
    key = spelled_out(key)
    while key[0] in ("attribute", "element", "item", "variable"):
        inner = key[3] if key[0] == "variable" else key[1]
        if not isinstance(inner, tuple):
            return ""
        key = spelled_out(inner)
    return str(key[1]) if key[0] == "param" else ""


def _is_part_of_a_stranger(key: Key) -> bool:
    """An attribute of an object that some unseen function made: a framework's own scaler, say."""
    key = _making(key)
    return bool(key) and key[0] == "attribute" and _making(key[1])[:1] in (("call",), ("item",))


def _making(key: Key) -> Key:
    """How a value came about, whatever it was named since."""
    key = spelled_out(key)
    while key and key[0] == "variable":
        key = spelled_out(key[3])
    return key
