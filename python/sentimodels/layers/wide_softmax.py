"""`wide_softmax`: softmax attention in float32 on a CPU, also where the rest computes in bfloat16.

Products of matrices gain from bfloat16 on a CPU that has it; attention over short texts does not: its
share of the work is small, and the backward pass of torch's bfloat16 kernel takes several times as long
as that of float32. On other devices it is `attention.softmax`.
"""

import torch
from torch import Tensor

from .attention import softmax
from .cache import Entry

__all__ = ["wide_softmax"]


def wide_softmax(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    entry: Entry | None = None,
    start: int = 0,
) -> Tensor:
    """Returns what `softmax` does, of the dtype of `v`; see `attention.Kernel`."""
    dtype = v.dtype
    if q.device.type != "cpu" or dtype not in (torch.bfloat16, torch.float16):
        return softmax(q, k, v, mask, causal=causal, dropout=dropout, entry=entry, start=start)
    with torch.autocast("cpu", enabled=False):
        q, k, v = q.float(), k.float(), v.float()
        return softmax(q, k, v, mask, causal=causal, dropout=dropout, entry=entry, start=start).to(dtype)
