"""Calling things: methods of tensors, modules, the functions of libraries."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import libcst as cst

from amplint.operators import MODULES, Treatment, treatment
from amplint.precision import regions
from amplint.precision.code import defines
from amplint.precision.dtypes import element_of, halved, limits_of, lowered, tensor_of, to_dtype
from amplint.precision.meant import meant, outermost
from amplint.precision.objects import Objects
from amplint.precision.state import Frame, State
from amplint.precision.values import (
    NUMBER,
    UNKNOWN,
    Application,
    Arguments,
    Choice,
    Class,
    Constant,
    DType,
    Entered,
    Expecting,
    Function,
    Gradients,
    Instance,
    Items,
    Made,
    Mapping,
    Named,
    Number,
    Partial,
    Tensor,
    Unknown,
    Value,
    join,
    options,
    promote,
)
from amplint.precision.vocabulary import (
    ALONG_DIM,
    CASTS,
    CREATING,
    CREATING_OF_VALUE,
    DEVICE_NAME,
    EXPECTING,
    FLOAT32_MODELS,
    FUNCTION_MODULES,
    INTEGERS,
    LIKE,
    MIXING,
    NEW,
    SAME_OBJECT,
    WIDE,
    WRAPPERS,
)
from amplint.syntax.names import dotted_name, within
from amplint.training.autocast import AUTOCASTS


class Calls(Objects):
    """Expressions with calls in them."""

    def _call(self, node: cst.Call, frame: Frame, state: State) -> Value:
        receiver: Value | None = None
        if isinstance(node.func, cst.Attribute):
            name = dotted_name(node.func)
            known = frame.get(name) if name is not None else None
            if known is None:
                receiver = self.value(node.func.value, frame, state)
                callee: Value | None = None
                if isinstance(receiver, (Named, Choice, Class)):
                    callee, receiver = self._attribute(node.func, frame, state), receiver
            else:
                callee = known
        else:
            callee = self.value(node.func, frame, state)
        arguments = self._arguments(node, frame, state)
        if callee is None or (isinstance(callee, Unknown) and isinstance(receiver, (Choice, Class))):
            assert receiver is not None and isinstance(node.func, cst.Attribute)
            return self._method(node, node.func.attr.value, receiver, arguments, frame, state)
        value: Value | None = None
        for option in options(callee):
            found = self.call(option, node, arguments, frame, state)
            value = found if value is None else join(value, found)
        return value if value is not None else UNKNOWN

    def _arguments(self, node: cst.Call, frame: Frame, state: State) -> Arguments:
        positional: list[Value] = []
        keywords: list[tuple[str, Value]] = []
        complete = True
        for argument in node.args:
            value = self.value(argument.value, frame, state)
            if argument.star == "*" and isinstance(value, Items):
                positional.extend(value.values)
            elif argument.star == "**" and isinstance(value, Mapping):
                keywords.extend((str(key), item) for key, item in value.items)
            elif argument.star:
                complete = False
            elif argument.keyword is not None:
                keywords.append((argument.keyword.value, value))
            else:
                positional.append(value)
        return Arguments(tuple(positional), tuple(keywords), complete)

    def call(self, callee: Value, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        """Call a value."""
        if isinstance(callee, Named):
            return self._library(callee, node, arguments, frame, state)
        if isinstance(callee, Function):
            return self.call_function(callee, node, arguments, state)
        if isinstance(callee, Partial):
            whole = Arguments(
                (*callee.arguments.positional, *arguments.positional),
                (*callee.arguments.keywords, *arguments.keywords),
                callee.arguments.complete and arguments.complete,
            )
            value = self.call(callee.function, callee.call, whole, frame, state)
            return value
        if isinstance(callee, Class):
            return Instance(callee.node)
        if isinstance(callee, Application):
            self.use(node, "apply", callee, arguments.positional, arguments, frame, state)
            return UNKNOWN
        if isinstance(callee, Instance):
            self.use(node, "call", callee, arguments.positional, arguments, frame, state)
            for method in ("forward", "__call__"):
                function = self.attribute(callee.node, method)
                if isinstance(function, Function):
                    return self.call_function(replace(function, owner=callee), node, arguments, state)
            base = self.library_base(callee.node)
            return self._module(Made(base, callee.half), node, arguments, frame, state) if base is not None else UNKNOWN
        if isinstance(callee, Made):
            return self._module(callee, node, arguments, frame, state)
        return self.unknown_call(node, callee, arguments, frame, state)

    def _method(
        self, node: cst.Call, name: str, receiver: Value, arguments: Arguments, frame: Frame, state: State
    ) -> Value:
        """Call a method of an object."""
        if isinstance(receiver, Choice):
            found = [self._method(node, name, option, arguments, frame, state) for option in receiver.options]
            value = found[0]
            for other in found[1:]:
                value = join(value, other)
            return value
        if name in ("enter_context", "enter_async_context") and len(arguments.positional) == 1:
            frame.pending.append((arguments.positional[0], node))
            return UNKNOWN
        if isinstance(receiver, Instance):
            value = self.attribute_of(receiver, name, node, state)
            if not isinstance(value, Unknown):
                known = value
                result: Value | None = None
                for option in options(known):
                    found_value = self.call(option, node, arguments, frame, state)
                    result = found_value if result is None else join(result, found_value)
                return result if result is not None else UNKNOWN
        if isinstance(receiver, (Instance, Made)):
            if name in SAME_OBJECT:
                target = to_dtype(arguments)
                if name == "to" and target == "float16":
                    return halved(receiver)
                if name == "to" and target in WIDE:
                    return replace(receiver, half=False)
                return receiver
            if name in CASTS:
                return halved(receiver) if name == "half" else replace(receiver, half=False)
            if isinstance(receiver, Instance) and not defines(receiver.node, name) and name != "__call__":
                return self.unknown_call(node, UNKNOWN, arguments, frame, state)
            if name == "__call__" or (name == "forward" and isinstance(receiver, Made)):
                return self.call(receiver, node, arguments, frame, state)
            self.use(node, f"method {name}", receiver, arguments.positional, arguments, frame, state)
            return UNKNOWN
        if isinstance(receiver, Items) and name in ("append", "extend", "insert"):
            text = dotted_name(node.func.value) if isinstance(node.func, cst.Attribute) else None
            if text is not None and text in frame.values:
                frame.values[text] = UNKNOWN
            return UNKNOWN
        if isinstance(receiver, Mapping) and name == "get" and arguments.positional:
            key = arguments.positional[0]
            if isinstance(key, Constant):
                return next((v for k, v in receiver.items if k == key.value), UNKNOWN)
            return element_of(Items(receiver.values))
        if isinstance(receiver, Constant):
            return UNKNOWN
        return self._tensor_method(node, name, receiver, arguments, frame, state)

    def _tensor_method(
        self, node: cst.Call, name: str, receiver: Value, arguments: Arguments, frame: Frame, state: State
    ) -> Value:
        if isinstance(receiver, Unknown) and isinstance(node.func, cst.Attribute):
            if name == "half" and self.report.is_module_name(node.func.value):
                return Made("torch.nn.Module", half=True)
            if (owner := self._model_with(name)) is not None and self.report.is_module_name(node.func.value):
                value = self._method(node, name, Instance(owner), arguments, frame, state)
                return replace(value, certain=False) if isinstance(value, Tensor) else value
        if name in CASTS and not arguments.all:
            return tensor_of(DType(CASTS[name]), node)
        if name in ("to", "type"):
            return self._to(node, name, receiver, arguments)
        if name in ("type_as", "to_like"):
            return promote(arguments.positional[:1])
        if name in ("size", "dim", "numel", "item", "tolist", "stride"):
            return NUMBER
        if name in INTEGERS:
            return Tensor("other") if isinstance(receiver, Tensor) else UNKNOWN
        operands = (receiver, *arguments.positional)
        self.use(node, name, UNKNOWN, operands, arguments, frame, state)
        dtype = arguments.get(None, "dtype")
        if treatment(name) is Treatment.OTHER and name not in NEW:
            if isinstance(node.func, cst.Attribute) and isinstance(receiver, Unknown):
                return self.unknown_call(node, UNKNOWN, arguments, frame, state)
            return UNKNOWN
        if name in NEW or (treatment(name) is Treatment.KEEP and name not in MIXING):
            return (
                tensor_of(dtype, node) if dtype is not None else (receiver if isinstance(receiver, Tensor) else UNKNOWN)
            )
        if name in ALONG_DIM:
            operands = (receiver,)
        return self.result(node, name, operands, state, dtype)

    def _model_with(self, name: str) -> cst.ClassDef | None:
        """The one class of the document that has a method of this name, if it is a model."""
        if treatment(name) is not Treatment.OTHER or name in CASTS or name in SAME_OBJECT:
            return None
        owner = self._only_owners.get(name)
        return owner if owner in self.own_models else None

    @cached_property
    def _only_owners(self) -> dict[str, cst.ClassDef | None]:
        """The class of each method; None where several classes have one of this name."""
        found: dict[str, cst.ClassDef | None] = {}
        for node in self.classes:
            for method in {child.name.value for child in node.body.body if isinstance(child, cst.FunctionDef)}:
                found[method] = None if method in found else node
        return found

    def _to(self, node: cst.Call, name: str, receiver: Value, arguments: Arguments) -> Value:
        every = [value for value in arguments.all if not isinstance(value, Constant) or isinstance(value.value, str)]
        for value in every:
            for option in options(value):
                if isinstance(option, DType):
                    return tensor_of(value, node)
                if isinstance(option, Tensor) and name == "to":
                    return option
        doubtful = [argument for argument in node.args if not self._names_device(argument)]
        if doubtful and any(isinstance(value, (Unknown, Choice)) for value in every):
            return UNKNOWN
        return receiver

    def _names_device(self, argument: cst.Arg) -> bool:
        if argument.keyword is not None and argument.keyword.value in (
            "device",
            "non_blocking",
            "memory_format",
            "copy",
        ):
            return True
        if isinstance(argument.value, (cst.SimpleString, cst.Integer)):
            return True
        return any(DEVICE_NAME.search(name) for name in regions.names_in(argument.value))

    def unknown_call(self, node: cst.Call, callee: Value, arguments: Arguments, frame: Frame, state: State) -> Value:
        """A model whose code is not seen returns what the region casts to, presumably."""
        self.use(node, "call", callee, arguments.positional, arguments, frame, state)
        active = state.active
        if isinstance(callee, Unknown) and state.cuda is not None and state.cuda.autocast.known:
            value = self._run_meant(node, arguments, state)
            if isinstance(value, Tensor):
                return replace(value, certain=False)
        if active is None or not active.autocast.known or not self.report.is_module_name(node.func):
            return UNKNOWN
        value = lowered(active, node)
        if not isinstance(value, Tensor) or not self._may_return_half(active):
            return UNKNOWN
        return replace(value, certain=False)

    def _run_meant(self, node: cst.Call, arguments: Arguments, state: State) -> Value:
        """Run the model or loss of the document that is meant by something that was handed in."""
        if not self._is_handed_in(node.func):
            return UNKNOWN
        name = node.func.attr.value if isinstance(node.func, cst.Attribute) else dotted_name(node.func)
        model = meant(self._outermost, name or "", arguments)
        forward = self.attribute(model, "forward") if model is not None else UNKNOWN
        if model is None or not isinstance(forward, Function):
            return UNKNOWN
        return self.call_function(replace(forward, owner=Instance(model)), node, arguments, state)

    @cached_property
    def _outermost(self) -> list[cst.ClassDef]:
        return outermost(self.own_models, self.classes)

    def _is_handed_in(self, func: cst.BaseExpression) -> bool:
        """Whether a parameter, or an attribute that keeps one, is called outside of the models themselves."""
        owner = next((above for above in self.names.ancestors(func) if isinstance(above, cst.ClassDef)), None)
        if owner in self.own_models:
            return False
        if isinstance(func, cst.Attribute):
            if owner is None or not isinstance(func.value, cst.Name) or func.value.value != "self":
                return False
            kept = [value for _, _, value in self._assignments(owner).get(func.attr.value, ())]
            return bool(kept) and all(isinstance(value, cst.Name) and self._is_param(value) for value in kept)
        return isinstance(func, cst.Name) and self._is_param(func)

    def _is_param(self, name: cst.Name) -> bool:
        """Whether a name is that of a parameter, which may have been moved or wrapped: ``model = model.cuda()``."""
        binding = self.names.binding(name)
        targets = binding.others if binding is not None else []
        kept = [target for target in targets if not isinstance(target, cst.Param)]
        return len(kept) < len(targets) and all(self._is_of_itself(target, name.value) for target in kept)

    def _is_of_itself(self, target: cst.CSTNode, name: str) -> bool:
        statement = self.names.parent(self.names.parents[target])
        return isinstance(statement, cst.Assign) and any(
            isinstance(part, cst.Name) and part.value == name and self.names.is_reference(part)
            for part in within(statement.value)
        )

    def _may_return_half(self, region: Entered) -> bool:
        """Whether a model may return half tensors, by those of the document, if there are any."""
        key = region.autocast
        if key not in self._half_models:
            self._half_models[key] = True
            found: list[Value] = []
            self.muted += 1
            try:
                for node in self.own_models:
                    forward = self.attribute(node, "forward")
                    if isinstance(forward, Function):
                        bound = replace(forward, owner=Instance(node))
                        found.append(self.call_function(bound, node, None, State(entered=(region,))))
            finally:
                self.muted -= 1
            floats = [value for value in found if isinstance(value, Tensor) and not value.is_half]
            self._half_models[key] = not found or len(floats) < len(found)
        return self._half_models[key]

    def _module(self, callee: Made, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        if callee.last == "Sequential" and callee.parts and arguments.positional:
            value = arguments.positional[0]
            for part in callee.parts:
                inner = replace(part, half=True) if callee.half and isinstance(part, Made) else part
                value = self.call(inner, node, Arguments((value,), ()), frame, state)
            return value
        if callee.name.startswith(FLOAT32_MODELS):
            return UNKNOWN
        operation = MODULES.get(callee.last) if callee.name.startswith("torch.nn.") else None
        if operation is None:
            if callee.half and state.active is None and callee.name != "torch.nn.Module":
                self.use(node, "call", callee, arguments.positional, arguments, frame, state)
                return UNKNOWN
            return self.unknown_call(node, callee, arguments, frame, state)
        self.use(node, operation, callee, arguments.positional, arguments, frame, state)
        if callee.half and treatment(operation) is Treatment.LOWER and state.cuda is None:
            return Tensor("float16", True, node)
        count = 2 if callee.last.endswith("Loss") else 1
        return self.result(node, operation, arguments.positional[:count], state)

    def _library(self, callee: Named, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        name, last = callee.name, callee.last
        if name in AUTOCASTS:
            made = regions.autocast(name, node, arguments, state.entered)
            if not self.muted:
                self.report.autocasts.setdefault(node, made)
            return made
        if name.startswith("builtins."):
            return self._builtin(last, arguments, node, frame, state)
        if name == "functools.partial" and arguments.positional:
            rest = replace(arguments, positional=arguments.positional[1:])
            return Partial(arguments.positional[0], node, rest)
        if name in ("torch.no_grad", "torch.autograd.no_grad", "torch.inference_mode", "torch.autograd.inference_mode"):
            return Gradients(False)
        if name in ("torch.enable_grad", "torch.autograd.enable_grad"):
            return Gradients(True)
        if name in ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled"):
            flag = arguments.get(0, "mode")
            return Gradients(bool(flag.value) if isinstance(flag, Constant) else None)
        if name.startswith("math.") or (
            name.startswith("numpy.") and isinstance(arguments.get(0, "x"), (Number, Constant))
        ):
            return NUMBER
        if name in EXPECTING or last.startswith("assertRaises"):
            return Expecting()
        if name in ("torch.finfo", "numpy.finfo"):
            return limits_of(arguments)
        if name == "torch.device" and arguments.positional:
            return arguments.positional[0]
        if name in WRAPPERS and arguments.positional:
            return arguments.positional[0]
        if name.startswith("torch.nn.") and last[:1].isupper() and last not in ("Parameter",):
            return Made(name, parts=self._parts(last, arguments))
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            of = promote(arguments.positional[:1])
            return of if isinstance(of, Tensor) else Tensor("float32")
        if name.startswith(FUNCTION_MODULES):
            return self._torch_function(callee, node, arguments, frame, state)
        if last[:1].isupper() or name.startswith("torchvision.models."):
            return Made(name)
        return self.unknown_call(node, callee, arguments, frame, state)

    def _parts(self, name: str, arguments: Arguments) -> tuple[Value, ...]:
        """The modules that a container holds."""
        if name == "Sequential":
            return arguments.positional
        held = arguments.positional[0] if name == "ModuleList" and arguments.positional else UNKNOWN
        return held.values if isinstance(held, Items) else ()

    def _torch_function(self, callee: Named, node: cst.Call, arguments: Arguments, frame: Frame, state: State) -> Value:
        last = callee.last
        dtype = arguments.get(None, "dtype")
        operands = tuple(value for value in arguments.all if value is not dtype)
        self.use(node, last, callee, operands, arguments, frame, state)
        if last in LIKE:
            return tensor_of(dtype, node) if dtype is not None else promote(operands[:1])
        if last in CREATING or last in CREATING_OF_VALUE:
            if dtype is not None and dtype != Constant(None):
                return tensor_of(dtype, node)
            return Tensor("float32") if last in CREATING and self.default_dtype_known else UNKNOWN
        if last in INTEGERS:
            return Tensor("other")
        if last == "where":
            operands = arguments.positional[1:]
        elif last in ("einsum", "rearrange", "repeat"):
            operands = tuple(value for value in operands if not isinstance(value, Constant))
        elif last not in MIXING and treatment(last) is Treatment.KEEP:
            operands = operands[:1]
        elif last in ALONG_DIM:
            operands = operands[:1]
        return self.result(node, last, operands, state, dtype)

    def _builtin(self, name: str, arguments: Arguments, node: cst.Call, frame: Frame, state: State) -> Value:
        first = arguments.positional[0] if arguments.positional else UNKNOWN
        if name == "float" and isinstance(first, Constant):
            try:
                return Constant(float(first.value))
            except (TypeError, ValueError):
                return UNKNOWN
        if name in ("len", "int", "float", "round", "abs") and not isinstance(first, (Constant, Tensor)):
            return NUMBER
        if name == "int" and isinstance(first, Constant) and first.number is not None and math.isfinite(first.number):
            return Constant(int(first.number))
        if name == "str":
            return first if all(isinstance(option, Constant) for option in options(first)) else UNKNOWN
        if name == "zip":
            return Items((Items(tuple(element_of(value) for value in arguments.positional)),) * 2)
        if name == "enumerate":
            return Items((Items((UNKNOWN, element_of(first))),) * 2)
        if name in ("list", "tuple", "reversed", "sorted", "iter"):
            return first
        if name in ("sum", "max", "min", "next") and isinstance(element_of(first), Tensor):
            return element_of(first)
        return UNKNOWN
