"""amplint's own rule pack: one file a rule, in folders by what the rules are about."""

from __future__ import annotations

from amplint.rule import Rule
from amplint.rules.autocast.amp301_step_inside_autocast import StepInsideAutocast
from amplint.rules.autocast.amp302_backward_inside_autocast import BackwardInsideAutocast
from amplint.rules.autocast.amp303_bce_under_autocast import BceUnderAutocast
from amplint.rules.autocast.amp304_cpu_autocast_dtype import CpuAutocastDtype
from amplint.rules.autocast.amp305_autocast_on_generator import AutocastOnGenerator
from amplint.rules.autocast.amp306_custom_function_unaware import CustomFunctionUnaware
from amplint.rules.autocast.amp307_no_grad_poisons_cache import NoGradPoisonsCache
from amplint.rules.autocast.amp308_island_without_float import IslandWithoutFloat
from amplint.rules.autocast.amp309_loss_outside_autocast import LossOutsideAutocast
from amplint.rules.expectations.amp501_cpu_autocast_speed import CpuAutocastSpeed
from amplint.rules.expectations.amp502_scale_sync import ScaleSync
from amplint.rules.internal.amp901_unused_suppression import UnusedSuppression
from amplint.rules.internal.amp902_invalid_syntax import InvalidSyntaxRule
from amplint.rules.migration.amp201_deprecated_cuda_amp import DeprecatedCudaAmp
from amplint.rules.migration.amp202_deprecated_custom_fwd import DeprecatedCustomFwd
from amplint.rules.migration.amp203_deprecated_autocast_query import DeprecatedAutocastQuery
from amplint.rules.migration.amp204_apex_amp import ApexAmp
from amplint.rules.migration.amp205_wrong_migration_argument import WrongMigrationArgument
from amplint.rules.migration.amp206_needs_newer_torch import NeedsNewerTorch
from amplint.rules.migration.amp207_bad_device_type import BadDeviceType
from amplint.rules.migration.amp208_autocast_not_entered import AutocastNotEntered
from amplint.rules.migration.amp209_cuda_only_query import CudaOnlyQuery
from amplint.rules.migration.amp210_hardcoded_cuda import HardcodedCuda
from amplint.rules.numerics.amp401_half_overflow_constant import HalfOverflowConstant
from amplint.rules.numerics.amp402_half_underflow_epsilon import HalfUnderflowEpsilon
from amplint.rules.protocol.amp101_step_bypasses_scaler import StepBypassesScaler
from amplint.rules.protocol.amp102_missing_update import MissingUpdate
from amplint.rules.protocol.amp103_clip_before_unscale import ClipBeforeUnscale
from amplint.rules.protocol.amp104_scaled_grad_use import ScaledGradUse
from amplint.rules.protocol.amp105_unscaled_backward import UnscaledBackward
from amplint.rules.protocol.amp106_repeated_unscale import RepeatedUnscale
from amplint.rules.protocol.amp107_misplaced_update import MisplacedUpdate
from amplint.rules.protocol.amp108_zero_grad_before_step import ZeroGradBeforeStep
from amplint.rules.protocol.amp109_backward_after_unscale import BackwardAfterUnscale
from amplint.rules.protocol.amp110_repeated_step import RepeatedStep
from amplint.rules.protocol.amp111_double_scale import DoubleScale
from amplint.rules.protocol.amp112_scaled_loss_used import ScaledLossUsed
from amplint.rules.protocol.amp113_closure_with_scaler import ClosureWithScaler
from amplint.rules.protocol.amp114_scaler_recreated import ScalerRecreated
from amplint.rules.protocol.amp115_scaler_not_checkpointed import ScalerNotCheckpointed
from amplint.rules.protocol.amp116_scheduler_before_step import SchedulerBeforeStep
from amplint.rules.protocol.amp117_bf16_with_scaler import Bf16WithScaler
from amplint.rules.protocol.amp118_fp16_without_scaler import Fp16WithoutScaler
from amplint.rules.protocol.amp119_half_params_with_scaler import HalfParamsWithScaler
from amplint.rules.protocol.amp120_unused_scaler import UnusedScaler
from amplint.rules.protocol.amp121_wrong_scaler_argument import WrongScalerArgument
from amplint.rules.protocol.amp122_framework_owns_scaler import FrameworkOwnsScaler
from amplint.rules.protocol.amp123_plain_scaler_with_fsdp import PlainScalerWithFsdp
from amplint.rules.protocol.amp124_scaled_grad_penalty import ScaledGradPenalty
from amplint.rules.protocol.amp125_scaler_maybe_undefined import ScalerMaybeUndefined
from amplint.rules.protocol.amp126_mismatched_enabled import MismatchedEnabled

RULES: tuple[type[Rule], ...] = (
    StepBypassesScaler,
    MissingUpdate,
    ClipBeforeUnscale,
    ScaledGradUse,
    UnscaledBackward,
    RepeatedUnscale,
    MisplacedUpdate,
    ZeroGradBeforeStep,
    BackwardAfterUnscale,
    RepeatedStep,
    DoubleScale,
    ScaledLossUsed,
    ClosureWithScaler,
    ScalerRecreated,
    ScalerNotCheckpointed,
    SchedulerBeforeStep,
    Bf16WithScaler,
    Fp16WithoutScaler,
    HalfParamsWithScaler,
    UnusedScaler,
    WrongScalerArgument,
    FrameworkOwnsScaler,
    PlainScalerWithFsdp,
    ScaledGradPenalty,
    ScalerMaybeUndefined,
    MismatchedEnabled,
    DeprecatedCudaAmp,
    DeprecatedCustomFwd,
    DeprecatedAutocastQuery,
    ApexAmp,
    WrongMigrationArgument,
    NeedsNewerTorch,
    BadDeviceType,
    AutocastNotEntered,
    CudaOnlyQuery,
    HardcodedCuda,
    StepInsideAutocast,
    BackwardInsideAutocast,
    BceUnderAutocast,
    CpuAutocastDtype,
    AutocastOnGenerator,
    CustomFunctionUnaware,
    NoGradPoisonsCache,
    IslandWithoutFloat,
    LossOutsideAutocast,
    HalfOverflowConstant,
    HalfUnderflowEpsilon,
    CpuAutocastSpeed,
    ScaleSync,
    UnusedSuppression,
    InvalidSyntaxRule,
)
