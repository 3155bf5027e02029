"""# bad-device-type (AMP207)

## What it does
Finds what is given to `torch.autocast`, `torch.amp.custom_fwd`, `torch.is_autocast_enabled` and their kin as the device
type and is none: a `torch.device`, a device with an index (`"cuda:0"`, `f"cuda:{rank}"`, `str(device)`), and names that
PyTorch does not know (`"gpu"`, `"CUDA"`).

Names are followed to what is assigned to them, to annotations, to the functions of the file that return them and to the
calls that pass them in. A name of which the file does not say what it holds is left alone. So is `str(device)` in a
file that imports from its own project, where another file says which device it is.

A device with an index is left alone where it does no harm: in `torch.autocast` where the lowest torch of the project is
2.4, or where the file does not run with an older one, in the functions that read and set the state of autocast, and in
`custom_fwd` without `cast_inputs`.

## Why is this bad?
A `torch.device` raises `ValueError: Expected device_type of type str`, an unknown name a `RuntimeError`. A device with
an index raises before PyTorch 2.4; since then it is accepted, but the checks for CUDA and for bfloat16 are skipped:
`torch.autocast("cuda:0")` stays enabled on a machine without a GPU, where `torch.autocast("cuda")` warns and disables
itself. In `custom_fwd` with `cast_inputs` no tensor is of the type `"cuda:0"`, and none is cast.

## Example
```python
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
with torch.autocast(device):
    loss = model(batch)
```

## Use instead
```python
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
with torch.autocast(device.type):
    loss = model(batch)
```

## Fix safety
The fix is safe: it reads the type of the device that is there. Where it may be a string as well as a `torch.device`, it
becomes `torch.device(device).type`, which is right for both. A literal becomes the device type in it.

## References
- [torch.autocast](https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
- [torch.device](https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device)
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.findings import Finding, Fix, Severity
from amplint.rule import Context, Rule


class BadDeviceType(Rule):
    """A device type that is none."""

    code = "AMP207"
    name = "bad-device-type"
    severity = Severity.ERROR
    since = "0.1.0"
    summary = 'a device type that is none: a `torch.device`, `str(device)`, `"cuda:0"`, `"gpu"`'
    fixable = "sometimes"
    mentions = (b"autocast", b"custom_fwd", b"custom_bwd")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield the device types that are none."""
        from amplint.rules.migration.api import amp_names
        from amplint.rules.migration.devices import Devices, device_argument, takes_index
        from amplint.rules.migration.newer import least_torch

        names = amp_names(context)
        devices: Devices | None = None
        torch: tuple[int, int] | None = None
        for use in names.uses:
            argument = device_argument(use)
            if argument is None:
                continue
            if devices is None:
                devices, torch = Devices(names), least_torch(context)
            bad = devices.bad(argument, takes_index=takes_index(use, torch))
            if bad is not None:
                fixes = (Fix("Give the device type", context.edits(bad.changes)),) if bad.changes else ()
                yield context.finding(
                    self,
                    argument,
                    bad.why,
                    help='Give the type of the device, such as `device.type` or `"cuda"`',
                    candidates=fixes,
                    no_fix_reason=bad.reason,
                )
