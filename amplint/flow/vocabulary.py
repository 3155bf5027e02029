"""The names by which PyTorch code takes part in the protocol."""

from __future__ import annotations

import re

GRAD_SCALERS = frozenset(
    {
        "torch.GradScaler",
        "torch.amp.GradScaler",
        "torch.amp.grad_scaler.GradScaler",
        "torch.cuda.amp.GradScaler",
        "torch.cuda.amp.grad_scaler.GradScaler",
        "torch.cpu.amp.GradScaler",
        "torch.cpu.amp.grad_scaler.GradScaler",
    }
)
"""Constructors of the gradient scaler whose protocol this is; other scalers are somebody else's."""

ACCELERATORS = frozenset({"accelerate.Accelerator", "accelerate.accelerator.Accelerator"})
"""What owns a gradient scaler that the program does not see, and scales, unscales and steps with it by itself."""

SCALER_CHECKS = frozenset({"unscale_", "scale"})
"""Methods that tell a scaler from everything else that has ``step`` and ``update``."""

PROTOCOL_METHODS = frozenset(
    {
        "scale",
        "unscale_",
        "step",
        "backward",
        "zero_grad",
        "is_enabled",
        "clip_grad_norm_",
        "clip_grad_value_",
    }
)
"""Methods and functions whose calls the explorer must see."""

HARMLESS_SCALER_METHODS = frozenset(
    {
        "get_scale",
        "get_growth_factor",
        "get_backoff_factor",
        "get_growth_interval",
        "set_growth_factor",
        "set_backoff_factor",
        "set_growth_interval",
        "state_dict",
        "load_state_dict",
    }
)
HARMLESS_OPTIMIZER_METHODS = frozenset(
    {
        "state_dict",
        "load_state_dict",
        "add_param_group",
        "register_step_pre_hook",
        "register_step_post_hook",
        "train",
        "eval",
        "__repr__",
    }
)

HARMLESS_FUNCTIONS = (
    "torch.save",
    "torch.optim.lr_scheduler.",
    "torch.optim.swa_utils.",
    "logging.",
    "copy.",
    "os.",
    "warnings.",
)
"""Library functions, and prefixes of them, that leave the protocol alone whatever they are given."""

HARMLESS_BUILTINS = frozenset(
    {"print", "len", "id", "repr", "str", "bool", "int", "float", "type", "hash", "callable", "vars", "dir", "format"}
)

CLIP_FUNCTIONS = frozenset(
    (
        *(
            f"torch.nn.utils.{module}{name}"
            for module in ("", "clip_grad.")
            for name in ("clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "clip_grads_with_norm_")
        ),
        *(
            f"timm.utils.{module}{name}"
            for module, names in {
                "": ("dispatch_clip_grad", "adaptive_clip_grad"),
                "clip_grad.": ("dispatch_clip_grad",),
                "agc.": ("adaptive_clip_grad",),
            }.items()
            for name in names
        ),
    )
)

AUTOCASTS = {
    "torch.autocast": 2,
    "torch.amp.autocast": 2,
    "torch.amp.autocast_mode.autocast": 2,
    "torch.cuda.amp.autocast": 0,
    "torch.cuda.amp.autocast_mode.autocast": 0,
    "torch.cpu.amp.autocast": 0,
    "torch.cpu.amp.autocast_mode.autocast": 0,
}
"""The context managers of autocast, with the position of their argument ``enabled``."""


NO_RETURN = frozenset({"sys.exit", "os._exit", "os.abort", "pytest.skip", "pytest.fail", "exit", "quit"})
"""Functions that do not come back to their caller."""

FINITENESS = frozenset({"isfinite", "isnan", "isinf"})
"""Questions whose answer does not depend on a scale."""

ARITHMETIC = frozenset(
    f"torch.{name}"
    for name in """stack cat concat concatenate hstack vstack sum mean nansum nanmean add sub subtract mul multiply div
    divide true_divide neg negative squeeze""".split()
)
"""Functions whose result is as scaled as what they are given."""


def is_schedule_maker(name: str) -> bool:
    """Whether a dotted name makes a learning-rate schedule of the optimizer that it is given first."""
    last = name.rpartition(".")[2]
    if name.startswith("torch.optim.lr_scheduler."):
        return last[:1].isupper()
    return name.startswith(("transformers.", "diffusers.")) and last.startswith("get_") and "schedule" in last


def is_schedule_name(name: str) -> bool:
    """Whether an object of this name, stepped with nothing, is a learning-rate schedule."""
    lowered = name.lower()
    return "sched" in lowered and "noise" not in lowered


AUTOGRAD_BACKWARD = frozenset({"torch.autograd.backward", "torch.autograd.variable.backward"})

BOUND_METHODS = frozenset({"scale", "unscale_", "step", "update"})
"""Methods that have to do with the protocol wherever they are handed on as a value."""

MUTATORS = frozenset(
    {"pop", "popleft", "popitem", "append", "appendleft", "extend", "insert", "clear", "remove", "add"}
)
"""Methods after which a collection may be empty that was not, or the other way round."""

HARMLESS_DECORATORS = (
    "torch.",
    "functools.",
    "contextlib.",
    "typing.",
    "typing_extensions.",
    "abc.",
    "staticmethod",
    "classmethod",
    "property",
    "override",
)
"""Decorators, by their beginning, that do nothing to a scaler before or after the function they wrap."""

EXPECTED_FAILURES = frozenset({"pytest.raises", "raises", "assertRaises", "assertRaisesRegex", "pytest.warns"})
"""Context managers in which misuse is on purpose."""

ERRORS_OF_MISUSE = frozenset({"RuntimeError", "AssertionError", "AttributeError", "Exception"})
"""What PyTorch raises where the protocol is broken, or what catches it."""

FRAMEWORKS = frozenset({"accelerate", "deepspeed", "apex", "lightning", "pytorch_lightning", "colossalai", "fairscale"})
"""Packages that own the scaler: one that merely reaches a file that uses them is not taken for PyTorch's."""

MODULE_METHODS = frozenset(
    """train eval to cuda cpu half float double parameters named_parameters buffers named_buffers modules named_modules
    children named_children state_dict load_state_dict register_buffer register_parameter add_module apply
    requires_grad_ log log_dict print info debug warning error write add_scalar __init__""".split()
)
"""Inherited methods that leave the protocol alone."""


_LEARNING = re.compile(r"backward|backprop|(^|_)(grads?|gradients?|train|learn|optimi[sz]e|fit)(_|$)")
_NOT_LEARNING = re.compile(r"norm|clip|zero|no_grad|requires|enable|log|get|set|scale|^train$|^fit$")


def may_go_backward(name: str) -> bool:
    """Whether a function of this name, seen or not, may well accumulate gradients."""
    return bool(_LEARNING.search(name)) and not _NOT_LEARNING.search(name)


def is_optimizer_class(name: str) -> bool:
    """Whether a dotted name is one of the optimizers of ``torch.optim``."""
    return (
        name.startswith("torch.optim.")
        and name.rpartition(".")[2][:1].isupper()
        and not name.startswith(("torch.optim.lr_scheduler", "torch.optim.swa_utils"))
    )
