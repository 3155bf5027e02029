"""Running the functions of the document, and entering contexts."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import replace

import libcst as cst

from amplint.precision import regions
from amplint.precision.calls import Calls
from amplint.precision.code import decorator_name, decorators_of, is_static, statements_in
from amplint.precision.state import Frame, State
from amplint.precision.values import (
    NUMBER,
    UNKNOWN,
    Arguments,
    Autocast,
    Class,
    Constant,
    Contexts,
    DType,
    Entered,
    Expecting,
    Function,
    Gradients,
    Instance,
    Made,
    Named,
    Tensor,
    Unknown,
    Value,
    join,
    options,
)
from amplint.precision.vocabulary import (
    DEEPEST,
)


class Functions(Calls):
    """Calls into functions of the document."""

    @abstractmethod
    def body(self, suite: cst.BaseSuite, frame: Frame, state: State) -> bool:
        """Run a suite; whether the path ends in it."""

    def call_function(self, function: Function, call: cst.CSTNode, arguments: Arguments | None, state: State) -> Value:
        """Run a function; without ``arguments`` by itself, where nothing is known of them."""
        node = function.node
        frame = Frame(node, function.frame or self.module)
        if isinstance(node, cst.Lambda):
            self.bind(node, None, arguments, frame)
            return self.value(node.body, frame, state)
        if node in self.running or self.calls_left <= 0 or len(self.running) >= DEEPEST:
            return UNKNOWN
        if arguments is not None:
            self.called.add(node)
        if node in self.report.generators:
            if arguments is not None:
                return self._manager(function, arguments, frame, state)
        self.bind(node, function.owner, arguments, frame)
        state = replace(state, conditions=frozenset())
        given = tuple(sorted(frame.values.items(), key=lambda item: item[0]))
        key = (node, given, replace(state, calls=()), self.muted > 0)
        try:
            if key in self.memory:
                return self.memory[key]
        except TypeError:
            return UNKNOWN
        self.memory[key] = UNKNOWN
        self.calls_left -= 1
        inner = replace(state, calls=(*state.calls, call))
        self.running.append(node)
        try:
            outside = self.module if function.owner else frame.parent or self.module
            for decorator in reversed(node.decorators):
                value = self.value(decorator.decorator, outside, State())
                if isinstance(value, Autocast):
                    if node in self.report.generators or node.asynchronous is not None:
                        continue  # the body runs after it has been left
                if isinstance(value, Named) and value.name in ("torch.no_grad", "torch.inference_mode"):
                    value = Gradients(False)
                if isinstance(value, (Autocast, Gradients)):
                    inner = self.enter(value, decorator, node, inner)
            ended = self.body(node.body, frame, inner)
        finally:
            self.running.pop()
        result: Value | None = None
        for value in frame.returned if ended else (*frame.returned, Constant(None)):
            result = value if result is None else join(result, value)
        self.memory[key] = result if result is not None else UNKNOWN
        return self.memory[key]

    def _manager(self, function: Function, arguments: Arguments, frame: Frame, state: State) -> Value:
        """What a generator that is a context manager enters before it yields."""
        node = function.node
        assert isinstance(node, cst.FunctionDef)
        if not any(decorator_name(decorator) == "contextmanager" for decorator in node.decorators):
            return UNKNOWN
        self.bind(node, function.owner, arguments, frame)
        found: list[Value] = []
        for statement in statements_in(node.body):
            if isinstance(statement, cst.Expr) and isinstance(statement.value, cst.Yield):
                inner: list[Value] = []
                for above in itertools.takewhile(lambda above: above is not node, self.names.ancestors(statement)):
                    if isinstance(above, cst.With):
                        inner[:0] = [self.value(item.item, frame, state) for item in above.items]
                found.append(Contexts(tuple(inner)))
        if len(found) != 1:
            return UNKNOWN
        return found[0]

    def bind(
        self,
        node: cst.FunctionDef | cst.Lambda,
        owner: Value | None,
        arguments: Arguments | None,
        frame: Frame,
    ) -> None:
        params = node.params
        names = [*params.posonly_params, *params.params]
        if owner is not None and names and not is_static(node):
            is_class = any(decorator_name(decorator) == "classmethod" for decorator in decorators_of(node))
            value = Class(owner.node) if is_class and isinstance(owner, Instance) else owner
            frame.values[names.pop(0).name.value] = value
        for index, param in enumerate(names):
            given = arguments.get(index, param.name.value) if arguments is not None else None
            frame.values[param.name.value] = self._parameter(param, given, arguments)
        for param in params.kwonly_params:
            given = arguments.get(None, param.name.value) if arguments is not None else None
            frame.values[param.name.value] = self._parameter(param, given, arguments)
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                frame.values[star.name.value] = UNKNOWN

    def _parameter(self, param: cst.Param, given: Value | None, arguments: Arguments | None) -> Value:
        if given is not None:
            return given
        if param.default is not None and (arguments is None or arguments.complete):
            value = self.value(param.default, self.module, State())
            if arguments is not None:
                return value
            # by itself, a number or a dtype is what it will mostly be; a flag or None says nothing
            if isinstance(value, DType) or (isinstance(value, Constant) and isinstance(value.value, float)):
                return value
        if param.annotation is not None:
            annotated = self.value(param.annotation.annotation, self.module, State())
            if annotated in (Named("builtins.int"), Named("builtins.float")):
                return NUMBER
            if isinstance(annotated, Named) and annotated.name.startswith("torch.nn.") and annotated.last[:1].isupper():
                return Made(annotated.name)
            if isinstance(annotated, Class) and isinstance(self.attribute(annotated.node, "forward"), Function):
                return Instance(annotated.node)
        return UNKNOWN

    def note_decorators(self, node: cst.FunctionDef, frame: Frame) -> None:
        for decorator in node.decorators:
            value = self.value(decorator.decorator, frame, State())
            if isinstance(value, Autocast) and not self.muted:
                self.report.decorated[node] = decorator, value

    def enter(self, value: Value, text: cst.CSTNode, place: cst.CSTNode, state: State) -> State:
        """The state inside of a context."""
        autocasts = [option for option in options(value) if isinstance(option, Autocast)]
        if autocasts:
            merged = autocasts[0]
            for other in autocasts[1:]:
                merged = regions.merged(merged, other)
            entered = Entered(merged, place, len(state.calls), next(self.entries), state.doubts)
            return replace(state, entered=(*state.entered, entered))
        if isinstance(value, Contexts):
            for inner in value.inner:
                state = self.enter(inner, text, place, state)
            return state
        recording = [option.enabled for option in options(value) if isinstance(option, Gradients)]
        if recording:
            sure = len(recording) == len(options(value)) and len(set(recording)) == 1
            return replace(state, gradients=recording[0] if sure else None)
        if isinstance(value, Expecting):
            return replace(state, expecting=True)
        if all(isinstance(option, (Unknown, Named, Tensor)) or option == Constant(None) for option in options(value)):
            if any(map(regions.sounds_like_autocast, regions.names_in(text))):
                entered = Entered(regions.stranger(text), place, len(state.calls), next(self.entries), state.doubts)
                return replace(state, entered=(*state.entered, entered))
        return state
