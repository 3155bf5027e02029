"""The names by which PyTorch code makes, casts and computes with tensors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import libcst as cst

DTYPES = {
    "float16": "float16",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float": "float32",
    "float64": "float64",
    "double": "float64",
    "HalfTensor": "float16",
    "FloatTensor": "float32",
    "BFloat16Tensor": "bfloat16",
    **dict.fromkeys(["int8", "uint8", "int16", "int32", "int64", "long", "int", "short", "bool"], "other"),
}
WIDE = {"float32", "float64"}
CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float32"}
INTEGERS = {"long", "int", "bool", "byte", "short", "argmax", "argmin", "argsort", "eq", "ne", "lt", "le", "gt", "ge"}
LIMITS = {
    "float16": {"max": 65504.0, "eps": 2.0**-10, "tiny": 2.0**-14},
    "bfloat16": {"max": 3.3895e38, "eps": 2.0**-7, "tiny": 1.1755e-38},
    "float32": {"max": 3.4028e38, "eps": 2.0**-23, "tiny": 1.1755e-38},
    "float64": {"max": 1.797e308, "eps": 2.0**-52, "tiny": 2.2e-308},
}
CONSTANTS = {name: math.inf for name in ("math.inf", "numpy.inf", "numpy.Inf", "torch.inf")} | {
    "numpy.NINF": -math.inf,
    "math.pi": math.pi,
    "sys.float_info.max": 1.797e308,
    "sys.float_info.epsilon": 2.0**-52,
}
CREATING = {"zeros", "ones", "rand", "randn", "empty", "eye", "linspace"}
CREATING_OF_VALUE = {"full", "tensor", "as_tensor", "arange"}
LIKE = {"zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like"}
NEW = {"new_zeros", "new_ones", "new_full", "new_tensor", "new_empty"}
WRAPPERS = {
    "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel",
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm",
    "torch.compile",
    "torch.jit.script",
}
SAME_OBJECT = {"to", "cuda", "cpu", "train", "eval", "requires_grad_", "apply", "share_memory"}
PROPERTIES = {"property", "cached_property"}
FUNCTION_MODULES = ("torch.", "torch.nn.functional.", "torch.special.", "torch.linalg.", "einops.")
#: Models that end in an interpolation, or return losses.
FLOAT32_MODELS = ("torchvision.models.segmentation.", "torchvision.models.detection.")
FUNCTIONS = {"torch.autograd.Function", "torch.autograd.function.Function"}
EXPECTING = {"pytest.raises", "pytest.warns", "unittest.TestCase.assertRaises"}
MODULE_NAME = re.compile(
    r"(?i)(^|_)(model|net|network|unet|encoder|decoder|backbone|generator|discriminator|classifier|student|teacher|"
    r"detector|net[gd])(_|\d|$)"
)
MODULE_METHOD = re.compile(r"\b(\w+)(?:\.module)?\.(?:train|eval|parameters|named_parameters)\(")
DEVICE_NAME = re.compile(r"(?i)device|rank|cuda|gpu|(^|[._])dev($|[._])")
LOSS_NAME = re.compile(r"(?i)(^|_)(loss|losses|cost)(_|\d|$)")
PRECISION_TEST = re.compile(r"(?i)dtype|half|fp16|float16|bf16|autocast|(^|\W|_)amp(\W|_|$)|mixed|precision|is_cuda")
MOST_CALLS = 1500
DEEPEST = 8

BINARY: dict[type, str] = {
    cst.Add: "__add__",
    cst.Subtract: "__sub__",
    cst.Multiply: "__mul__",
    cst.Divide: "__truediv__",
    cst.MatrixMultiply: "__matmul__",
    cst.Power: "__pow__",
}
AUGMENTED: dict[type, str] = {
    cst.AddAssign: "__add__",
    cst.SubtractAssign: "__sub__",
    cst.MultiplyAssign: "__mul__",
    cst.DivideAssign: "__truediv__",
    cst.MatrixMultiplyAssign: "__matmul__",
    cst.PowerAssign: "__pow__",
}
ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "__add__": lambda a, b: a + b,
    "__sub__": lambda a, b: a - b,
    "__mul__": lambda a, b: a * b,
    "__truediv__": lambda a, b: a / b,
    "__pow__": lambda a, b: a**b if abs(b) < 1000 and abs(a) < 1e6 else math.inf,
}
ALONG_DIM = frozenset(
    "softmax log_softmax sum prod cumsum cumprod norm logsumexp normalize mean max min layer_norm group_norm".split()
)
MIXING = frozenset(
    """
    __add__ __sub__ __mul__ __truediv__ add sub mul div div_ mul_ sub_ true_divide divide multiply subtract maximum
    minimum where cat concat concatenate stack hstack vstack column_stack lerp addcdiv addcmul atan2 bilinear cross dot
    grid_sample index_put scatter_add tensordot
    """.split()
)
