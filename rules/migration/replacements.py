"""The deprecated AMP names and what replaces each of them: plain data, nothing imported."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Signature(enum.Enum):
    """How the arguments change from the old name to the new one."""

    AUTOCAST = "the device comes first, and what was positional moves behind dtype: it becomes keywords"
    DEVICE_FIRST = "the device comes first, the rest keeps its order"
    DEVICE_SECOND = "the device comes second"
    DEVICE_KEYWORD = "the device is a keyword"


@dataclass(frozen=True, slots=True)
class Home:
    """A module that offers the new name, and the first torch in which it does."""

    module: str
    since: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Replacement:
    """What replaces a deprecated name: ``name`` in the first of ``homes`` that the project's torch has."""

    code: str
    name: str
    homes: tuple[Home, ...]
    device: str
    signature: Signature
    is_class: bool = False

    @property
    def device_keyword(self) -> str:
        """The keyword by which the new signature takes the device."""
        return "device" if self.name == "GradScaler" else "device_type"

    def home(self, target: tuple[int, int] | None) -> Home | None:
        """Where to find the new name in every torch from ``target`` on; None if some of them lack it."""
        for home in self.homes:
            if target is None or target >= home.since:
                return home
        return None

    def example(self, target: tuple[int, int] | None) -> str:
        """The new spelling, for a message."""
        home = self.home(target) or self.homes[0]
        arguments = {
            Signature.AUTOCAST: f'("{self.device}", ...)',
            Signature.DEVICE_FIRST: f'("{self.device}", ...)' if self.takes_more else f'("{self.device}")',
            Signature.DEVICE_SECOND: f'(value, "{self.device}", dtype)',
            Signature.DEVICE_KEYWORD: f'(device_type="{self.device}")',
        }
        return f"{home.module}.{self.name}{arguments[self.signature]}"

    @property
    def takes_more(self) -> bool:
        """Whether the new name takes arguments beside the device."""
        return self.name == "GradScaler" or self.name.startswith("set_")


#: The old positional parameters of ``autocast``, in order.
AUTOCAST_PARAMETERS = ("enabled", "dtype", "cache_enabled")

_RENAMED = {
    "amp": "torch.amp",
    "amp.autocast_mode": "torch.amp.autocast_mode",
    "amp.grad_scaler": "torch.amp.grad_scaler",
}


def _amp_names() -> dict[str, Replacement]:
    """The names in ``torch.cuda.amp``, ``torch.cpu.amp`` and their submodules."""
    found: dict[str, Replacement] = {}
    for device in ("cuda", "cpu"):
        autocast = Replacement(
            "AMP201",
            "autocast",
            (Home("torch.amp", (1, 12)), Home("torch", (1, 11))),
            device,
            Signature.AUTOCAST,
            is_class=True,
        )
        scaler = Replacement(
            "AMP201", "GradScaler", (Home("torch.amp", (2, 3)),), device, Signature.DEVICE_FIRST, is_class=True
        )
        for module in ("amp", "amp.autocast_mode"):
            found[f"torch.{device}.{module}.autocast"] = autocast
        for module in ("amp", "amp.grad_scaler"):
            found[f"torch.{device}.{module}.GradScaler"] = scaler
    found["torch.cuda.amp.autocast_mode._cast"] = Replacement(
        "AMP201", "_cast", (Home("torch.amp.autocast_mode", (2, 4)),), "cuda", Signature.DEVICE_SECOND
    )
    for name in ("custom_fwd", "custom_bwd"):
        for module in ("amp", "amp.autocast_mode"):
            found[f"torch.cuda.{module}.{name}"] = Replacement(
                "AMP202", name, (Home("torch.amp", (2, 4)),), "cuda", Signature.DEVICE_KEYWORD
            )
    return found


def _queries() -> dict[str, Replacement]:
    """The functions of ``torch`` that ask or set the autocast state of one device."""
    found: dict[str, Replacement] = {}
    home = (Home("torch", (2, 4)),)
    for short, device in (("gpu", "cuda"), ("cpu", "cpu"), ("ipu", "ipu"), ("xla", "xla")):
        changes = {
            f"get_autocast_{short}_dtype": "get_autocast_dtype",
            f"set_autocast_{short}_dtype": "set_autocast_dtype",
        }
        if short != "gpu":
            changes[f"is_autocast_{short}_enabled"] = "is_autocast_enabled"
            changes[f"set_autocast_{short}_enabled"] = "set_autocast_enabled"
        for old, new in changes.items():
            found[f"torch.{old}"] = Replacement("AMP203", new, home, device, Signature.DEVICE_FIRST)
    return found


#: Qualified deprecated name -> what replaces it.
DEPRECATED: dict[str, Replacement] = {**_amp_names(), **_queries()}

#: Deprecated module -> the module that offers the same names anew.
MODULES = {
    f"torch.{device}.{module}": f"torch.{module}"
    for device in ("cuda", "cpu")
    for module in ("amp", "amp.autocast_mode", "amp.grad_scaler")
}


def is_new(qualified: str) -> bool:
    """Whether a dotted name is one of those that replace the deprecated ones."""
    module, _, name = qualified.rpartition(".")
    return qualified not in DEPRECATED and (
        module.startswith("torch.amp")
        or (module == "torch" and name in {replacement.name for replacement in DEPRECATED.values()})
    )
