"""One run's stand-ins: what they answer, and the real scalers, optimizers and parameters behind some of them."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from amplint.flow.vocabulary import CLIP_FUNCTIONS
from amplint.harness.sites import AMPLINT
from amplint.harness.standins.decisions import Decisions
from amplint.harness.standins.extraction import RELEVANT, Extract, is_optimizer
from amplint.harness.standins.objects import (
    _CUTTING,
    _LEAVING,
    _SELF,
    ITEMS,
    NONE,
    PathEnds,
    Source,
    Sources,
    StandIn,
)

MAX_OPERATIONS = 20_000
"""Calls and operations of one run; a loop that goes on for ever ends there."""

CALLS = 2
"""How often a method is called: an object keeps its scaler from one call to the next."""

_CLIPPING_NAMES = frozenset(name.rpartition(".")[2] for name in CLIP_FUNCTIONS)

_OPTIMIZER_CLASSES = re.compile(r"(?i)adam|sgd|lamb\b|lars\b|rmsprop|adagrad|lion\b|adafactor|optimizer$")
_SCHEDULE_CLASSES = re.compile(r"Scheduler$|LR$")

SCALERS = 4
"""Scalers that are there before a run begins, as far as its code is concerned."""


class LearntMore(BaseException):
    """The run has shown something to be an optimizer that was not taken for one: begin again."""


class Memory:
    """What the runs of one file know from each other: the optimizers that nobody in it builds."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.optimizers: dict[int, str] = {}
        """Key -> name."""
        self.starving: set[int] = set()
        """Which of the optimizers built, counted, got no gradient from what could be seen."""
        self.ambiguous = False
        """Whether it had to be guessed which optimizer has which model's parameters."""


class World:
    """Makes stand-ins and answers for them."""

    def __init__(
        self, extract: Extract, decisions: Decisions, memory: Memory, absent: Collection[int] = frozenset()
    ) -> None:
        """``absent`` are the keys of unbuilt optimizers that this run has nothing to do with."""
        self._extract, self._decisions, self._memory = extract, decisions, memory
        self._absent = absent
        self._met: set[int] = set()
        self._operations = 0
        self._fresh = 0
        self._sources: dict[int, Source] = {}
        self.optimizers: dict[int, torch.optim.Optimizer] = {}
        """Those that nobody builds, by their key."""
        self._backwards = 0
        self._reached: set[int] = set()
        self._built: list[torch.optim.Optimizer] = []
        self.linked: set[int] = set()
        """The ids of the parameters that some optimizer was built with."""
        self._spare = [torch.amp.GradScaler("cpu", init_scale=256.0) for _ in range(SCALERS)]
        for scaler in self._spare:
            scaler.scale(torch.zeros(()))
        self._calling: set[types.CodeType] = set()
        self.decided = False
        self.preparing = False
        """Whether what is made now was there before the code that is run begins."""

    def begin(self) -> None:
        """Make what is there before the run begins; to be called under the watch."""
        for key in self._memory.optimizers:
            if key not in self._absent:
                self._make_optimizer(key)

    @property
    def unmet(self) -> frozenset[int]:
        """The keys of the unbuilt optimizers that did not come up in this run: other runs have other ones."""
        return frozenset(self.optimizers.keys() - self._met)

    # Identity and truth

    def number(self, key: Hashable) -> int:
        """A small number for ``key``: the same for the same way of coming about, in every run."""
        numbers = self._memory.numbers
        return numbers.setdefault(key, len(numbers))

    def key_of(self, value: Any) -> Hashable:
        """What identifies ``value`` in the keys of others."""
        if isinstance(value, StandIn):
            return value._si_key
        if isinstance(value, (str, int, float, bool, bytes, type(None))):
            return type(value).__name__, value
        if isinstance(value, (list, tuple)):
            return tuple(map(self.key_of, value))
        return "real", type(value).__name__

    def decide(self, condition: Hashable, likely: bool = True) -> bool:
        """Whether a condition on stand-ins holds in this run."""
        self.tick()
        self.decided = True
        return self._decisions.decide(condition, _place(), likely)

    def tick(self) -> None:
        """Count one more operation; raises :class:`PathEnds` when there have been too many."""
        self._operations += 1
        if self._operations > MAX_OPERATIONS:
            raise PathEnds("it goes on for too long")

    def is_something(self, value: StandIn) -> bool:
        """Whether a stand-in is known not to stand for None."""
        return value._si_real is not None or value._si_name in self._extract.scalers | self._extract.optimizers

    def argument(self, name: str, default: Any, optional: bool) -> Any:
        """What a function is called with: a default may be left as it is, and a number or flag be another one."""
        plain = default is not None and name not in self._extract.scalers | self._extract.optimizers
        if optional and plain and (not isinstance(default, (bool, int, float)) or self.decide(("default", name))):
            return default
        made = StandIn(self, ("argument", name), name)
        self._give_role(made)
        return made

    # Stand-ins

    def fresh(self, base: StandIn, how: str, value: int | None = None) -> StandIn:
        """Another one of ``base``, different each time."""
        self.tick()
        self._fresh += 1
        return StandIn(
            self, (how, base._si_key, self._fresh), base._si_name, base._si_sources, parent=base, value=value
        )

    def root(self, name: str) -> StandIn:
        """What a name stands for that nothing defines."""
        made = StandIn(self, ("name", name), name)
        self._give_role(made)
        return made

    def named(self, value: Any, name: str) -> Any:
        """``value``, known by ``name`` from here on where it has none of its own."""
        if isinstance(value, StandIn) and value._si_real is None:
            parent = value._si_parent
            if parent is None or ("attribute", parent._si_key, value._si_name) not in self._memory.numbers:
                object.__setattr__(value, "_si_name", name)
                self._give_role(value)
        return value

    def length(self, value: StandIn) -> StandIn:
        """How many there are of ``value``, as far as conditions are concerned."""
        return StandIn(self, ("len", value._si_key), "len", value=ITEMS)

    def attribute(self, base: StandIn, name: str) -> Any:
        """``base.name``, asked for the first time."""
        self.tick()
        if base._si_real is not None and name in ("param_groups", "state", "_scale", "defaults"):
            return self._real_attribute(base, name)
        if name == "module":  # of a wrapped one
            return base
        sources = NONE if name in _CUTTING else base._si_sources
        made = StandIn(self, ("attribute", base._si_key, name), name, sources, parent=base)
        self._give_role(made)
        return made

    def item(self, base: StandIn, key: Hashable) -> StandIn:
        """An element of ``base``."""
        self.tick()
        made = StandIn(self, (base._si_key, key), base._si_name, base._si_sources, parent=base)
        self._give_role(made)
        return made

    def _give_role(self, made: StandIn) -> None:
        if made._si_key in self.optimizers:
            self._met.add(made._si_key)
            object.__setattr__(made, "_si_real", self.optimizers[made._si_key])
        elif made._si_name in self._extract.optimizers:
            pass  # once it is used as one: it may be a collection of them

    def combined(self, how: Hashable, values: Iterable[Any]) -> StandIn:
        """The result of an operation on ``values``."""
        self.tick()
        values = tuple(values)
        key = (how, tuple(map(self.key_of, values)))
        return StandIn(self, key, sources=self.gathered(values))

    def operation(self, name: str, operation: Callable[..., Any] | None, left: Any, right: Any) -> StandIn:
        """An arithmetic operation; on counted numbers the value is known."""
        made = self.combined(name, (left, right))
        numbers = [part._si_value if isinstance(part, StandIn) else part for part in (left, right)]
        if operation is not None and all(type(number) is int for number in numbers):
            try:
                value = operation(*numbers)
            except ArithmeticError:
                value = None
            if type(value) is int and abs(value) < 2**31 and name != "mod":
                object.__setattr__(made, "_si_value", value)
        return made

    def comparison(self, name: str, left: StandIn, right: Any) -> Any:
        """A comparison: undecided, but for the first of counted numbers."""
        if left is right:
            return name in ("eq", "le", "ge")
        if left._si_value is not None and left._si_name != "len" and type(right) is int and right == 0:
            known = {"eq": left._si_value == 0, "ne": left._si_value != 0, "gt": left._si_value > 0}
            if name in known:
                return known[name]
        mirrored = {"ne": "eq", "ge": "lt", "le": "gt"}
        made = self.combined(mirrored.get(name, name), (left, right))
        object.__setattr__(made, "_si_sources", NONE)
        return made if name not in mirrored else _Not(self, made)

    # Calls

    def call(self, function: StandIn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a stand-in returns when it is called."""
        self.tick()
        base, name = function._si_parent, function._si_name
        if base is not None and ("attribute", base._si_key, name) in self._memory.numbers:
            answer = self._method(base, name, args, kwargs)
            if answer is not NotImplemented:
                return answer
        if name in _LEAVING:
            raise PathEnds("it exits")
        self.call_back((*args, *kwargs.values()))
        if name in _CLIPPING_NAMES and ".".join([*function._si_names()][::-1]) in CLIP_FUNCTIONS:
            return self.clip(torch.nn.utils.clip_grad_norm_, args, kwargs)
        if name[:1].isupper() and _OPTIMIZER_CLASSES.search(name) and self.parameters_in(args[:1]):
            return self.optimizer(*args, **kwargs)
        if _SCHEDULE_CLASSES.search(name) and args and isinstance(args[0], StandIn):
            if isinstance(args[0]._si_real, torch.optim.Optimizer):
                return self.scheduler(args[0])
        sources = self.gathered((*args, *kwargs.values()))
        if torch.is_grad_enabled():
            sources |= frozenset(function._si_family()) | function._si_sources
            if base is not None and not function._si_module:  # a method: it may use all that its object has
                sources |= frozenset(base._si_modules())
        if name in _CUTTING or not torch.is_grad_enabled():
            sources = NONE
        key = ("call", function._si_key, self.key_of(list(args)), self.key_of(list(kwargs.values())))
        return StandIn(self, key, name, sources)

    def invoke(self, function: Callable[..., Any], instance: Any = None) -> Any:
        """Call ``function`` with stand-ins for what it has no default of; those that it has may be anything as well."""
        parameters = list(inspect.signature(function).parameters.values())
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if instance is not None:
            args.append(instance)
            parameters = parameters[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            made = self.argument(parameter.name, parameter.default, parameter.default is not parameter.empty)
            if parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = made
            else:
                args.append(made)
        return function(*args, **kwargs)

    def call_back(self, given: Iterable[Any]) -> None:
        """Whoever is given a function that trains will call it, once a batch."""
        for function in given:
            if isinstance(function, types.FunctionType) and RELEVANT.intersection(function.__code__.co_names):
                if function.__code__ not in self._calling:
                    self._calling.add(function.__code__)
                    for _ in range(CALLS):
                        self.invoke(function)

    def _method(self, base: StandIn, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The methods that mean something here; NotImplemented for any other."""
        if name == "backward":
            return self.backward([base])
        if name in ("parameters", "trainable_parameters", "trainable_params"):
            return [self.adopted(base)]
        if name == "named_parameters":
            return [(StandIn(self, ("parameter name", base._si_key), "weight"), self.adopted(base))]
        if name in _SELF and not isinstance(base._si_real, torch.amp.GradScaler):
            if name == "requires_grad_":
                wanted = (*args, *kwargs.values(), True)[0]
                base._si_parameter().tensor.requires_grad_(wanted is True)
            return base
        if name == "step" and isinstance(base._si_real, LRScheduler):
            return base._si_real.step()
        if self._acts_as_scaler(base, name, args):
            return self._scaler_method(base, name, args, kwargs)
        if self._acts_as_optimizer(base, name):
            return self._optimizer_method(base, name, args, kwargs)
        if name == "zero_grad":
            return self._module_zero_grad(base)
        return NotImplemented

    # Scalers

    def scaler(self, *args: Any, **kwargs: Any) -> StandIn:
        """A gradient scaler that the program builds; on or off as the program says, or as is decided."""
        enabled = kwargs.get("enabled", True)
        if not (enabled._si_truth() if isinstance(enabled, StandIn) else enabled):
            real = torch.amp.GradScaler("cpu", enabled=False)
        elif self.preparing:
            real = self._existing_scaler()
        else:
            real = torch.amp.GradScaler("cpu", init_scale=256.0)
        self._fresh += 1
        return StandIn(self, ("scaler", self._fresh), "scaler", real=real)

    def _acts_as_scaler(self, base: StandIn, name: str, args: tuple[Any, ...]) -> bool:
        if name not in (
            "scale",
            "unscale_",
            "step",
            "update",
            "get_scale",
            "is_enabled",
            "state_dict",
            "load_state_dict",
        ):
            return False
        if isinstance(base._si_real, torch.amp.GradScaler):
            return True
        if base._si_real is None and base._si_name in self._extract.scalers:
            object.__setattr__(base, "_si_real", self._existing_scaler())
            return True
        return False

    def _existing_scaler(self) -> torch.amp.GradScaler:
        if not self._spare:
            raise PathEnds("it has too many scalers")
        return self._spare.pop()

    def _scaler_method(self, base: StandIn, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        real = base._si_real
        if name == "scale":
            (outputs,) = (*args, *kwargs.values())
            return self._scaled(real, outputs)
        if name in ("unscale_", "step"):
            given = (*args, *kwargs.values())
            if given[0] is None or isinstance(given[0], StandIn) and isinstance(given[0]._si_real, LRScheduler):
                return getattr(real, name)(given[0] and given[0]._si_real)  # which PyTorch rejects
            optimizer = self.real_optimizer(given[0])
            self._look_for_gradients(real, optimizer)
            if name == "unscale_":
                real.unscale_(optimizer)
            else:
                real.step(optimizer, *given[1:])
            return self._result(base, name)
        if name == "update":
            new = next((value for value in (*args, *kwargs.values()) if value is not None), None)
            real.update() if new is None else real.update(new if type(new) is int else 256.0)
            return None
        if name == "is_enabled":
            return real.is_enabled()
        return self._result(base, name)

    def _look_for_gradients(self, scaler: Any, optimizer: torch.optim.Optimizer) -> None:
        """Begin again where nothing has ever flowed into an optimizer: it cannot be seen what it optimizes."""
        number = next((number for number, built in enumerate(self._built) if built is optimizer), None)
        if number is None or number in self._memory.starving or not self._backwards:
            return
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if scaler.is_enabled() and all(parameter not in self._reached for parameter in map(id, parameters)):
            self._memory.starving.add(number)
            raise LearntMore

    def _result(self, base: StandIn, name: str) -> StandIn:
        self._fresh += 1
        return StandIn(self, ("result", base._si_key, name, self._fresh), name)

    def _scaled(self, scaler: Any, outputs: Any) -> Any:
        if isinstance(outputs, (list, tuple)):
            return [self._scaled(scaler, output) for output in outputs]
        if isinstance(outputs, torch.Tensor):
            return scaler.scale(outputs)
        if not isinstance(outputs, StandIn):
            raise PathEnds("it scales what is no loss")
        total = self._total(self._feeding(outputs._si_sources))
        if total is None:
            scaler.scale(torch.zeros(()))
            return self.combined("scaled", (outputs,))
        scaled = scaler.scale(total)
        source = Source(scaled, frozenset().union(*(s.names for s in outputs._si_sources)), scaled=True)
        self._sources[id(scaled)] = source
        self._fresh += 1
        return StandIn(self, ("scaled", self._fresh), "loss", frozenset({source}))

    # Optimizers

    def optimizer(self, *args: Any, **kwargs: Any) -> StandIn:
        """An optimizer that the program builds."""
        given = (*args, *kwargs.values())
        parameters = self.parameters_in(given)
        if not parameters:
            parameters = [torch.nn.Parameter(torch.ones(()))]
        self.linked.update(map(id, parameters))
        if self.preparing:
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)  # what was before is unknown
        real = torch.optim.SGD(parameters, lr=1e-3)
        self._built.append(real)
        self._fresh += 1
        return StandIn(self, ("optimizer", self._fresh), "optimizer", real=real)

    def scheduler(self, *args: Any, **kwargs: Any) -> StandIn:
        """A schedule of learning rates that the program builds."""
        optimizer = (*args, *kwargs.values())[0]
        self._fresh += 1
        real = LambdaLR(self.real_optimizer(optimizer), lambda _: 1.0)
        return StandIn(self, ("scheduler", self._fresh), "scheduler", real=real)

    def parameters_in(self, values: Iterable[Any]) -> list[torch.Tensor]:
        """The parameters that were handed over, through stand-ins too, each once."""
        found: dict[int, torch.Tensor] = {}

        def collect(value: Any) -> None:
            if isinstance(value, torch.Tensor):
                if value.is_leaf and value.requires_grad:
                    found[id(value)] = value
            elif isinstance(value, StandIn):
                sources = {*value._si_sources, value._si_parameter()}
                for source in sources:
                    if not source.scaled:
                        collect(source.tensor)
            elif isinstance(value, dict):
                for part in value.values():
                    collect(part)
            elif isinstance(value, (list, tuple, set, filter, map)) or hasattr(value, "__next__"):
                for part in value:
                    collect(part)

        for value in values:
            if not isinstance(value, (str, int, float)):
                collect(value)
        return list(found.values())

    def _acts_as_optimizer(self, base: StandIn, name: str) -> bool:
        if name not in ("step", "zero_grad", "state_dict", "load_state_dict", "add_param_group"):
            return False
        if isinstance(base._si_real, torch.optim.Optimizer):
            return True
        known = base._si_name in self._extract.optimizers or is_optimizer(base._si_name)
        if name in ("step", "zero_grad") and known and base._si_real is None:
            self.real_optimizer(base)
            return True
        return False

    def real_optimizer(self, value: Any) -> torch.optim.Optimizer:
        """The optimizer behind ``value``; raises :class:`LearntMore` where it was not known to be one."""
        if isinstance(value, torch.optim.Optimizer):
            return value
        if not isinstance(value, StandIn) or isinstance(value._si_real, torch.amp.GradScaler):
            raise PathEnds("it steps what is no optimizer")
        if value._si_real is None:
            if value._si_key not in self._memory.optimizers:
                self._memory.optimizers[value._si_key] = value._si_name
                raise LearntMore
            if value._si_key not in self.optimizers:
                self._make_optimizer(value._si_key)
            self._met.add(value._si_key)
            object.__setattr__(value, "_si_real", self.optimizers[value._si_key])
        real: torch.optim.Optimizer = value._si_real
        return real

    def _make_optimizer(self, key: int) -> None:
        parameter = torch.nn.Parameter(torch.ones(()))
        parameter.grad = torch.ones(())  # what was before is unknown
        self.optimizers[key] = torch.optim.SGD([parameter], lr=1e-3)

    def _optimizer_method(self, base: StandIn, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        real = self.real_optimizer(base)
        if name == "step":
            closure = next((value for value in (*args, *kwargs.values()) if callable(value)), None)
            if closure is not None:
                real.step(closure if not isinstance(closure, StandIn) else None)
                return self._result(base, name)
            return real.step()
        if name == "zero_grad":
            to_none = next((value for value in (*args, *kwargs.values())), True)
            real.zero_grad(set_to_none=to_none is not False)
            return None
        return self._result(base, name)

    def _real_attribute(self, base: StandIn, name: str) -> Any:
        if name == "param_groups" and isinstance(base._si_real, torch.optim.Optimizer):
            return [_Group(self, base, group["params"]) for group in base._si_real.param_groups]
        return StandIn(self, ("attribute", base._si_key, name), name, parent=base)

    def adopted(self, model: StandIn) -> torch.Tensor:
        """The parameter of ``model``; one that no optimizer was built with goes to those that nobody built."""
        object.__setattr__(model, "_si_module", True)
        parameter = model._si_parameter().tensor
        if id(parameter) not in self.linked:
            for key in self._matching(frozenset(model._si_names())):
                optimizer = self.optimizers[key]
                if not any(known is parameter for group in optimizer.param_groups for known in group["params"]):
                    optimizer.add_param_group({"params": [parameter]})
        return parameter

    def _matching(self, names: frozenset[str]) -> list[int]:
        """The unbuilt optimizers whose name goes with one of ``names``; all of them where that says nothing."""
        if len(self.optimizers) < 2:
            return list(self.optimizers)
        words = _words(names)
        matching = [
            key
            for key in self.optimizers
            if any(_go_together(mine, word) for mine in _words([self._memory.optimizers[key]]) for word in words)
        ]
        if not matching or len(matching) == len(self.optimizers):
            self._memory.ambiguous = True
            return list(self.optimizers)
        return matching

    def _module_zero_grad(self, base: StandIn) -> None:
        module = torch.nn.Module()
        parameter = base._si_parameter().tensor
        for number, source in enumerate(base._si_family()):
            if isinstance(source.tensor, torch.nn.Parameter):
                module.register_parameter(f"weight{number}", source.tensor)
        if id(parameter) not in self.linked:
            for key in self._matching(frozenset(base._si_names())):
                for number, owned in enumerate(self.optimizers[key].param_groups[0]["params"]):
                    module.register_parameter(f"owned{key}_{number}", owned)
        module.zero_grad()

    # Gradients

    def clip(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> StandIn:
        """Clip by PyTorch's ``function`` whatever parameters it is given."""
        given = (*args, *kwargs.values())
        parameters = self.parameters_in(given[:1])
        if not any(parameter.grad is not None for parameter in parameters):  # nothing says whose they are
            parameters += [optimizer.param_groups[0]["params"][0] for optimizer in self.optimizers.values()]
        if any(parameter.grad is not None for parameter in parameters):
            function(parameters, 1.0)
        return self.combined("clipped", ())

    def gathered(self, values: Iterable[Any]) -> Sources:
        """Through what a gradient flows into something computed from ``values``."""
        if not torch.is_grad_enabled():
            return NONE
        found: set[Source] = set()
        for value in values:
            self._gather(value, found, 0)
        return frozenset(found)

    def _gather(self, value: Any, found: set[Source], depth: int) -> None:
        if isinstance(value, StandIn):
            found |= value._si_sources
            if isinstance(value._si_real, torch.optim.Optimizer):
                for group in value._si_real.param_groups:
                    self._gather(group["params"], found, depth + 1)
            elif not value._si_sources:
                found.add(value._si_parameter())
        elif isinstance(value, torch.Tensor):
            if value.requires_grad:
                found.add(self._sources.setdefault(id(value), Source(value)))
        elif depth < 4:
            if isinstance(value, dict):
                value = value.values()
            elif not isinstance(value, (list, tuple)):
                return
            for part in value:
                self._gather(part, found, depth + 1)

    def backward(self, losses: Iterable[Any]) -> None:
        """A real backward through everything that ``losses`` were computed from."""
        sources: set[Source] = set()
        for loss in losses:
            self._gather(loss, sources, 0)
        total = self._total(self._feeding(frozenset(sources)))
        if total is not None:
            torch.autograd.backward(total, retain_graph=True)

    def _feeding(self, sources: Sources) -> list[torch.Tensor]:
        """The tensors of ``sources``, and the parameters of optimizers that nobody built.

        A loss that comes from no optimizer's parameters comes from somewhere else: then it is taken to reach all.
        """
        tensors = [source.tensor for source in sources]
        if not any(source.scaled for source in sources):
            for key in self._matching(frozenset().union(*(source.names for source in sources))):
                tensors.append(self.optimizers[key].param_groups[0]["params"][0])
            unseen = not self.optimizers and self.linked.isdisjoint(map(id, tensors))
            for number, optimizer in enumerate(self._built):
                if unseen or number in self._memory.starving:
                    self._memory.ambiguous |= len(self._built) > 1
                    tensors += [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self._reached.update(map(id, tensors))
        self._backwards += 1
        return [tensor for tensor in tensors if tensor.requires_grad]

    def _total(self, tensors: list[torch.Tensor]) -> torch.Tensor | None:
        if not tensors or not torch.is_grad_enabled():
            return None
        total = tensors[0].float().sum()
        for tensor in tensors[1:]:
            total = total + tensor.float().sum()
        return total if total.requires_grad else None


class _Not(StandIn):
    """The negation of a comparison, so that both are decided as one."""

    __slots__ = ("_si_inner",)

    def __init__(self, world: World, inner: StandIn) -> None:
        super().__init__(world, ("not", inner._si_key))
        object.__setattr__(self, "_si_inner", inner)

    def _si_truth(self, likely: bool = True) -> bool:
        return not self._si_inner._si_truth(not likely)

    def __bool__(self) -> bool:
        return not self._si_inner


class _Group(dict[str, Any]):
    """A parameter group: real parameters, anything else stood in for."""

    def __init__(self, world: World, optimizer: StandIn, params: list[Any]) -> None:
        super().__init__(params=params)
        self._world, self._optimizer = world, optimizer

    def __missing__(self, name: Any) -> Any:
        self[name] = StandIn(self._world, ("option", self._optimizer._si_key, name), str(name))
        return self[name]


def _words(names: Iterable[str]) -> set[str]:
    found = set()
    for name in names:
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name):
            word = word.lower()
            if not re.fullmatch(r"opt\w*|self|net|nets|model|models|module|s|the|params?|parameters|loss|step", word):
                found.add(word)
    return found


def _go_together(mine: str, other: str) -> bool:
    return mine.startswith(other) or other.startswith(mine)


def _place() -> Hashable:
    """Where the program is that asks."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(AMPLINT):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


__all__ = ["CALLS", "ITEMS", "LearntMore", "Memory", "World"]


def items_of(values: Iterable[Any]) -> Iterator[Any]:
    """At most as many of ``values`` as a stand-in has."""
    for number, value in enumerate(values):
        if number == ITEMS:
            return
        yield value
