"""Every kind of attention, behind one signature; q is (B, H, T, K), k and v are (B, G, T, K).

- `softmax`: torch's kernel; `plain`: the same written out, its oracle. O(T²).
- `linear-elu`: phi = elu + 1 (Katharopoulos et al. 2020, eq. 7). O(T).
- `linear-softmax`: softmax of q over features, of k over positions (Shen et al. 2021);
  causal: over the positions so far. O(T).
- `nystrom`: segment means as landmarks, iterative pseudo-inverse (Xiong et al. 2021,
  eq. 13). O(T), two-way only: a landmark mixes what comes before and after.
G divides H: with fewer keys than queries, neighbouring heads share them (Ainslie et al. 2023).
The softmax kinds take the mask of `attention_mask`, the linear ones that of the tokens (B, T);
without one, all tokens are real and softmax runs torch's fastest kernel. Sums over a text are
formed in float32 at least, whatever autocast says. A padded key enters no sum and no landmark;
a text without a real token attends to itself, so no row is all hidden. With an `entry` of a
cache, T new tokens follow those of earlier calls.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from .backbone import Entry, extend

__all__ = ["ATTENTION", "LINEAR", "Kernel", "attention_mask", "causal_sum", "nystrom", "pseudo_inverse"]

# Steps of a causal sum taken as one matrix product.
_CHUNK = 64
# Keys are shifted by their largest before exp; lower values count as this.
_LOWEST = -40.0


class Kernel(Protocol):
    """One kind of attention."""

    def __call__(
        self,
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
        """Returns (B, H, T, K).

        Args:
            q: queries of the new tokens.
            k: their keys.
            v: their values.
            mask: see the module; `None`: every token is real.
            causal: whether a token sees only itself and the tokens before it.
            dropout: share of attention weights dropped (softmax kinds only).
            entry: the layer's part of a cache, which this call extends.
            start: tokens that the entry holds already.
        """


def attention_mask(
    mask: Tensor | None, n_queries: int, n_keys: int, *, causal: bool, bias: Tensor | None = None
) -> Tensor | None:
    """Returns the mask of the softmax kinds, computed once for all layers.

    The queries are the last of the keys' tokens.

    Args:
        mask: (B, S), True at real keys; `None`: all are.
        n_queries: T.
        n_keys: S.
        causal: whether a query sees only its own key and those before it.
        bias: (B or 1, H, T, S) added to the scores, or `None`.

    Returns:
        (B or 1, 1, T, S), True where a query may see a key; with a bias the bias, -inf where
        it may not; `None` if the flag `causal` says it all.
    """
    if mask is None and bias is None:
        return None
    given = mask if mask is not None else bias
    assert given is not None
    key = torch.arange(n_keys, device=given.device)
    query = key[n_keys - n_queries :, None]
    allowed = key == query
    allowed = (mask[:, None, None, :] | allowed) if mask is not None else torch.ones_like(allowed)
    if causal:
        allowed = allowed & (key <= query)
    return allowed if bias is None else bias.masked_fill(~allowed, float("-inf"))


def _before(q: Tensor, k: Tensor) -> Tensor:
    """Returns where the last tokens of k see each other and all before, (T, S)."""
    allowed = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device)
    return allowed.tril(k.shape[2] - q.shape[2])


def softmax(
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
    """Scaled dot-product attention by torch's kernel.

    On a CPU the backward pass of that kernel takes longer in bfloat16 than in float32, nearly twice as long
    with AMX, so where gradients are recorded there, it computes in float32.
    """
    if entry is not None:
        k, v = extend(entry, start, k, v)
    fused = causal and mask is None and q.shape[2] > 1
    if fused and start:  # torch's flag means the first keys, not the last
        mask, fused = _before(q, k), False
    dtype = v.dtype
    autocast: AbstractContextManager[Any] = nullcontext()
    widened = q.requires_grad and q.device.type == "cpu"
    if widened:
        q, k, v, autocast = _wide(q), _wide(k), _wide(v), torch.autocast("cpu", enabled=False)
    if mask is not None and mask.is_floating_point():
        mask = mask.to(q.dtype)
    grouped = k.shape[1] != q.shape[1]
    with autocast:
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=dropout, is_causal=fused, enable_gqa=grouped
        )
    return out.to(dtype) if widened else out


def plain(
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
    """Scaled dot-product attention, written out."""
    if entry is not None:
        k, v = extend(entry, start, k, v)
    k, v = _shared(q, k), _shared(q, v)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is None and causal:
        mask = _before(q, k)
    if mask is not None:
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, float("-inf"))
    return F.dropout(scores.softmax(-1), dropout) @ v


def _shared(q: Tensor, k: Tensor) -> Tensor:
    """Repeats keys or values for the queries that share them."""
    times = q.shape[1] // k.shape[1]
    return k if times == 1 else k.repeat_interleave(times, 1)


def _wide(x: Tensor) -> Tensor:
    """Returns a tensor in float32 at least."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def causal_sum(q: Tensor, k: Tensor, v: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns `out[t] = sum over j <= t of (q[t] . k[j]) v[j]` in time linear in T, and the sum's state.

    Within a chunk by a matrix product, between chunks by the running sum of `k v^T`.

    Args:
        q: (B, H, T, K).
        k: (B, H, T, K).
        v: (B, H, T, K).
        state: (B, H, K, K), the running sum of tokens before; without it none.
    """
    if torch.compiler.is_exporting():  # a graph cannot loop over a number of chunks
        return (q @ k.transpose(-1, -2)).tril() @ v, k.transpose(-1, -2) @ v
    if state is None:
        state = q.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    parts = []
    for start in range(0, q.shape[2], _CHUNK):
        part = slice(start, start + _CHUNK)
        qs, ks, vs = q[:, :, part], k[:, :, part], v[:, :, part]
        parts.append((qs @ ks.transpose(-1, -2)).tril() @ vs + qs @ state)
        state = state + ks.transpose(-1, -2) @ vs
    return torch.cat(parts, 2), state


def _positive(x: Tensor) -> Tensor:
    return F.elu(x) + 1


def linear_elu(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,  # noqa: ARG001  # 2026-11-23: no weights are formed; the configuration refuses it
    entry: Entry | None = None,
    start: int = 0,  # noqa: ARG001  # 2026-11-23: the state says it
) -> Tensor:
    """Linear attention with the feature map elu + 1."""
    dtype = v.dtype
    with torch.autocast(q.device.type, enabled=False):
        q, k, v = _positive(_wide(q)), _positive(_shared(q, _wide(k))), _shared(q, _wide(v))
        if mask is not None:
            k = k * mask[:, None, :, None]
        # Every term is positive, so the sum is zero only where no real key is seen.
        tiny = torch.finfo(q.dtype).tiny
        if not causal:
            total = (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
            return ((q @ (k.transpose(-1, -2) @ v)) / total.clamp(min=tiny)).to(dtype)
        counts = k.cumsum(2)
        if entry:
            counts = counts + entry["counts"]
        out, state = causal_sum(q, k, v, entry.get("state") if entry else None)
        if entry is not None:
            entry |= {"state": state, "counts": counts[:, :, -1:]}
        total = (q * counts).sum(-1, keepdim=True)
        return (out / total.clamp(min=tiny)).to(dtype)


def linear_softmax(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,  # noqa: ARG001  # 2026-11-23: no weights are formed; the configuration refuses it
    entry: Entry | None = None,
    start: int = 0,  # noqa: ARG001  # 2026-11-23: the state says it
) -> Tensor:
    """Linear attention with softmax of q over features and of k over positions.

    Keys are shifted by the largest of all, later ones included: a key that is more than 40 below it counts as
    if it were 40 below. Only there does a later token move an earlier output of causal attention.
    """
    dtype = v.dtype
    with torch.autocast(q.device.type, enabled=False):
        q, k, v = _wide(q).softmax(-1), _shared(q, _wide(k)), _shared(q, _wide(v))
        real = None if mask is None else mask[:, None, :, None]
        if real is not None:
            k = k.masked_fill(~real, torch.finfo(k.dtype).min)
        # A common factor of all positions cancels; the shift keeps exp in range.
        shift = k.amax(2, keepdim=True).detach()
        if entry:
            shift = torch.maximum(shift, entry["shift"])
        k = (k - shift).clamp(min=_LOWEST).exp()
        if real is not None:
            k = k * real
        tiny = torch.finfo(q.dtype).tiny
        if not causal:
            k = k / k.sum(2, keepdim=True).clamp(min=tiny)
            return (q @ (k.transpose(-1, -2) @ v)).to(dtype)
        counts, state = k.cumsum(2), None
        if entry:
            again = (entry["shift"] - shift).exp()
            counts, state = counts + again * entry["counts"], again.transpose(-1, -2) * entry["state"]
        out, state = causal_sum(q / counts.clamp(min=tiny), k, v, state)
        if entry is not None:
            entry |= {"state": state, "counts": counts[:, :, -1:], "shift": shift}
        return out.to(dtype)


def pseudo_inverse(a: Tensor, steps: int = 8) -> Tensor:
    """Approximates the Moore-Penrose inverse of `(..., m, m)` by matrix products.

    Razavi's third-order iteration (Xiong et al. 2021, eq. 11). The starting point is
    scaled per matrix, not per batch: an answer must not depend on its neighbours.
    """
    columns = a.abs().sum(-2).amax(-1)
    rows = a.abs().sum(-1).amax(-1)
    scale = (columns * rows).clamp(min=torch.finfo(a.dtype).tiny)
    z = a.transpose(-1, -2) / scale[..., None, None]
    identity = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for _ in range(steps):
        az = a @ z
        z = 0.25 * z @ (13 * identity - az @ (15 * identity - az @ (7 * identity - az)))
    return z


def _landmarks(mask: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Returns the weights (B, m, T) that average real tokens into segments, and which exist (B, m).

    The real tokens of each text are cut into min(length, m) segments of near-equal
    length, whatever the padding.
    """
    # A landmark that does not exist has no weight, so that a graph can have as many for any length.
    m = most if torch.compiler.is_exporting() else min(most, mask.shape[1])
    place = mask.cumsum(1) - 1
    length = mask.sum(1, keepdim=True)
    segment = torch.where(length > m, place * m // length.clamp(min=1), place)
    member = (segment[:, None, :] == torch.arange(m, device=mask.device)[:, None]) & mask[:, None, :]
    size = member.sum(-1)
    return member / size.clamp(min=1)[..., None], size > 0


def nystrom(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,  # noqa: ARG001  # 2026-11-23: no weights are kept; the configuration refuses it
    entry: Entry | None = None,
    start: int = 0,  # noqa: ARG001  # 2026-11-23: the state says it
    landmarks: int = 32,
) -> Tensor:
    """Nystrom attention with segment means.

    Where a text has no more tokens than landmarks it is softmax attention, up to the error of the
    inverse, which is approximated.

    Raises:
        ValueError: if it is to be causal or cached.
    """
    if causal or entry is not None:
        raise ValueError("nystrom attention has no causal form: its landmarks mix all places")
    if mask is None:
        mask = torch.ones(q.shape[0], q.shape[2], dtype=torch.bool, device=q.device)
    dtype = v.dtype
    with torch.autocast(q.device.type, enabled=False):
        q, k, v = _wide(q), _shared(q, _wide(k)), _shared(q, _wide(v))
        means, exists = _landmarks(mask, landmarks)
        means = means[:, None].to(q.dtype)
        exists = exists[:, None, :]
        q = q / q.shape[-1] ** 0.5
        q_mean, k_mean = means @ q, means @ k
        lowest = torch.finfo(q.dtype).min
        real = mask[:, None, None, :]
        there = exists[:, :, None, :]
        to_landmarks = (q @ k_mean.transpose(-1, -2)).masked_fill(~there, lowest).softmax(-1) * there
        between = (q_mean @ k_mean.transpose(-1, -2)).masked_fill(~there, lowest).softmax(-1)
        # Rows and columns of missing landmarks are zero, and stay zero in the inverse.
        between = between * (there & exists[:, :, :, None])
        from_tokens = (q_mean @ k.transpose(-1, -2)).masked_fill(~real, lowest).softmax(-1) * real
        return (to_landmarks @ (pseudo_inverse(between) @ (from_tokens @ v))).to(dtype)


ATTENTION: dict[str, Kernel] = {
    "softmax": softmax,
    "plain": plain,
    "linear-elu": linear_elu,
    "linear-softmax": linear_softmax,
    "nystrom": nystrom,
}
# Kinds that take the mask of the tokens, and form no scores to add to.
LINEAR = frozenset({"linear-elu", "linear-softmax", "nystrom"})
