"""What CUDA autocast does with an operation, by its name: PyTorch's own lists, and what keeps a tensor's dtype.

Methods, functions of ``torch`` and of ``torch.nn.functional``, and the modules that call them go by one name.
"""

from __future__ import annotations

import enum


class Treatment(enum.Enum):
    """What becomes of an operation's floating operands in a CUDA region."""

    LOWER = "run in the region's dtype"
    FLOAT32 = "run in float32"
    BANNED = "refused"
    KEEP = "run in what they are, the widest of them"
    OTHER = "not known, or no floating tensor comes out"


LOWER = frozenset(
    """
    __matmul__ addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d convolution einsum gru_cell inner linear lstm lstm_cell gru rnn matmul mm multi_dot mv prelu
    rnn_relu_cell rnn_tanh_cell scaled_dot_product_attention vecdot
    """.split()
)
FLOAT32 = frozenset(
    """
    __pow__ __rdiv__ __rpow__ __rtruediv__ acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh
    tan pow softplus layer_norm native_layer_norm group_norm rms_norm norm nuclear_norm vector_norm matrix_norm
    normalize cosine_similarity cosine_embedding_loss poisson_nll_loss nll_loss nll_loss2d hinge_embedding_loss kl_div
    l1_loss smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss multi_margin_loss
    soft_margin_loss triplet_margin_loss binary_cross_entropy_with_logits cross_entropy gaussian_nll_loss ctc_loss
    dist pdist cdist renorm logsumexp prod softmax log_softmax softmin cumprod cumsum sum interpolate
    """.split()
)
WIDEST = frozenset("addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add tensordot".split())
BANNED = frozenset({"binary_cross_entropy"})
KEEP = WIDEST | frozenset(
    """
    __add__ __sub__ __mul__ __truediv__ __neg__ abs adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_max_pool1d adaptive_max_pool2d add amax amin avg_pool1d avg_pool2d avg_pool3d batch_norm broadcast_to cat
    celu chunk clamp clamp_ clamp_max clamp_min clip clone column_stack concat concatenate contiguous cos cpu cuda
    detach diagonal div div_ divide dropout dropout2d elu empty_like erf expand expand_as flatten flip fill_ gather
    gelu glu
    hardsigmoid hardswish hardtanh hstack index_fill index_fill_ index_select instance_norm leaky_relu lerp
    masked_fill masked_fill_ masked_select max max_pool1d max_pool2d max_pool3d maximum mean median min minimum mish mul
    mul_ multiply movedim narrow neg nan_to_num new_empty new_ones new_zeros ones_like pad permute pixel_shuffle
    rand_like
    randn_like rearrange relu relu6 relu_ repeat repeat_interleave requires_grad_ reshape reshape_as roll round scatter
    scatter_ select selu sigmoid sigmoid_ sign silu sin split sqrt square squeeze stack std sub sub_ subtract swapaxes
    t take
    tanh tanh_ tile transpose tril triu true_divide unbind unflatten unfold unsqueeze unsqueeze_ var view view_as vstack
    where zeros_like
    """.split()
)

#: The operation that an ``nn`` module's forward is.
MODULES = {
    "Linear": "linear",
    "Conv1d": "conv1d",
    "Conv2d": "conv2d",
    "Conv3d": "conv3d",
    "ConvTranspose1d": "conv_transpose1d",
    "ConvTranspose2d": "conv_transpose2d",
    "ConvTranspose3d": "conv_transpose3d",
    "LSTM": "lstm",
    "GRU": "gru",
    "RNN": "rnn",
    "LSTMCell": "lstm_cell",
    "GRUCell": "gru_cell",
    "PReLU": "prelu",
    "LayerNorm": "layer_norm",
    "GroupNorm": "group_norm",
    "RMSNorm": "rms_norm",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
    "Softplus": "softplus",
    "CosineSimilarity": "cosine_similarity",
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "ReLU": "relu",
    "ReLU6": "relu",
    "LeakyReLU": "leaky_relu",
    "GELU": "gelu",
    "SiLU": "silu",
    "ELU": "elu",
    "SELU": "selu",
    "Mish": "mish",
    "Hardswish": "hardswish",
    "Hardtanh": "hardtanh",
    "Identity": "contiguous",
    "Flatten": "flatten",
    "Unflatten": "unflatten",
    "Dropout": "dropout",
    "Dropout2d": "dropout",
    "BatchNorm1d": "batch_norm",
    "BatchNorm2d": "batch_norm",
    "BatchNorm3d": "batch_norm",
    "SyncBatchNorm": "batch_norm",
    "InstanceNorm1d": "instance_norm",
    "InstanceNorm2d": "instance_norm",
    "MaxPool1d": "max_pool1d",
    "MaxPool2d": "max_pool2d",
    "AvgPool1d": "avg_pool1d",
    "AvgPool2d": "avg_pool2d",
    "AdaptiveAvgPool1d": "adaptive_avg_pool1d",
    "AdaptiveAvgPool2d": "adaptive_avg_pool2d",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d",
    "PixelShuffle": "pixel_shuffle",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
}

#: Losses whose other operand is a tensor of the same kind, and may widen them.
BINARY_LOSSES = frozenset(
    "l1_loss smooth_l1_loss huber_loss mse_loss binary_cross_entropy_with_logits kl_div poisson_nll_loss "
    "gaussian_nll_loss".split()
)
LOSSES = BINARY_LOSSES | frozenset(
    "cross_entropy nll_loss ctc_loss binary_cross_entropy soft_margin_loss multi_margin_loss margin_ranking_loss "
    "multilabel_margin_loss hinge_embedding_loss cosine_embedding_loss triplet_margin_loss".split()
)

#: What puts a constant into a tensor: where it stands among the operands, the tensor being the first, and its keyword.
FILLING = {
    "masked_fill": (2, "value"),
    "masked_fill_": (2, "value"),
    "fill_": (1, "value"),
    "index_fill": (3, "value"),
    "index_fill_": (3, "value"),
    "new_full": (2, "fill_value"),
}


def treatment(name: str) -> Treatment:
    """What CUDA autocast does with the operation of this name."""
    if name in LOWER:
        return Treatment.LOWER
    if name in FLOAT32:
        return Treatment.FLOAT32
    if name in BANNED:
        return Treatment.BANNED
    return Treatment.KEEP if name in KEEP else Treatment.OTHER
