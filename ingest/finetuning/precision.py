"""In which numbers a model is trained: the weights in float32, matrix products in 16 bits where that is faster."""

import torch

from ingest.encode.bert import cuda_dtype


def find_precision(device: torch.device) -> str:
    """`bf16`, `fp16` or `float32`. A CPU has bf16 only where it multiplies in it; elsewhere it would be slower."""
    if device.type == "cuda":
        return "bf16" if cuda_dtype() == torch.bfloat16 else "fp16"
    if device.type == "cpu":
        able = torch.cpu.get_capabilities()
        return "bf16" if able.get("avx512_bf16") or able.get("amx_bf16") else "float32"
    return "float32"
