"""Tensors of any array library without a copy, over DLPack; dtypes and devices likewise."""

from ._dlbridge import Device, DType, Tensor, __version__, device, dtype, from_dlpack

__all__ = ["DType", "Device", "Tensor", "__version__", "device", "dtype", "from_dlpack"]
