"""Every kind of attention, behind one signature: `(q, k, v, scope) -> out`, all (B, H, T, K).

- `softmax`: torch's kernel; `plain`: the same written out, its oracle. O(T²).
- `linear-elu`: phi = elu + 1 (Katharopoulos et al. 2020, eq. 7). O(T).
- `linear-softmax`: softmax of q over features, of k over positions (Shen et al. 2021);
  causal: over the positions so far. O(T).
- `nystrom`: segment means as landmarks, iterative pseudo-inverse (Xiong et al. 2021,
  eq. 13). O(T), two-way only: a landmark mixes what comes before and after.
Not for projections or positions (`transformer.py`). Padded keys enter no sum and no
landmark; a text without a real token attends to itself, so no row is all hidden.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["ATTENTION", "Kernel", "Scope", "causal_sum", "pseudo_inverse", "scope"]

# Steps of a causal sum taken as one matrix product.
_CHUNK = 64
# Keys are shifted by their largest before exp; what is further below counts as this.
_LOWEST = -40.0


@dataclass(frozen=True)
class Scope:
    """What may attend to what, worked out once for all layers.

    Attributes:
        mask: (B, T), True at real tokens.
        causal: whether a token sees only itself and what is before it.
        allowed: (B or 1, 1, T, T), True where row may see column; `None`: everywhere.
        bias: (1, H, T, T) added to the scores before softmax, or `None`.
        landmarks: the most landmarks of the Nystrom form.
        dropout: share of attention weights dropped (softmax forms only).
    """

    mask: Tensor
    causal: bool = False
    allowed: Tensor | None = None
    bias: Tensor | None = None
    landmarks: int = 32
    dropout: float = 0.0


Kernel = Callable[[Tensor, Tensor, Tensor, Scope], Tensor]


def scope(
    mask: Tensor, *, causal: bool, bias: Tensor | None = None, landmarks: int = 32, dropout: float = 0.0
) -> Scope:
    """Works out the scope of a batch."""
    n_tokens = mask.shape[1]
    # On a GPU the question would wait for the device; there the mask is always used.
    if not causal and mask.device.type == "cpu" and bool(mask.all()):
        return Scope(mask, causal, None, bias, landmarks, dropout)
    itself = torch.eye(n_tokens, dtype=torch.bool, device=mask.device)
    allowed = mask[:, None, None, :] | itself
    if causal:
        allowed = allowed & torch.ones_like(itself).tril()
    return Scope(mask, causal, allowed, bias, landmarks, dropout)


def softmax(q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> Tensor:
    """Scaled dot-product attention by torch's kernel."""
    visible = scope.allowed
    if scope.bias is not None:
        bias = scope.bias.to(q.dtype)
        visible = bias if visible is None else bias.masked_fill(~visible, float("-inf"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=scope.dropout)


def plain(q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> Tensor:
    """Scaled dot-product attention, written out."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if scope.bias is not None:
        scores = scores + scope.bias
    if scope.allowed is not None:
        scores = scores.masked_fill(~scope.allowed, float("-inf"))
    return F.dropout(scores.softmax(-1), scope.dropout) @ v


def causal_sum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Returns `out[t] = sum over j <= t of (q[t] . k[j]) v[j]` in time linear in T.

    Within a chunk by a matrix product, between chunks by the running sum of `k v^T`.
    """
    state = q.new_zeros(*k.shape[:2], k.shape[-1], v.shape[-1])
    parts = []
    for start in range(0, q.shape[2], _CHUNK):
        part = slice(start, start + _CHUNK)
        qs, ks, vs = q[:, :, part], k[:, :, part], v[:, :, part]
        parts.append((qs @ ks.transpose(-1, -2)).tril() @ vs + qs @ state)
        state = state + ks.transpose(-1, -2) @ vs
    return torch.cat(parts, 2)


def _positive(x: Tensor) -> Tensor:
    return F.elu(x) + 1


def linear_elu(q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> Tensor:
    """Linear attention with the feature map elu + 1."""
    real = scope.mask[:, None, :, None]
    q, k = _positive(q), _positive(k) * real
    # Every term is positive, so the sum is zero only where no real key is seen.
    tiny = torch.finfo(q.dtype).tiny
    if scope.causal:
        total = (q * k.cumsum(2)).sum(-1, keepdim=True)
        return causal_sum(q, k, v) / total.clamp(min=tiny)
    total = (q * k.sum(2, keepdim=True)).sum(-1, keepdim=True)
    return (q @ (k.transpose(-1, -2) @ v)) / total.clamp(min=tiny)


def linear_softmax(q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> Tensor:
    """Linear attention with softmax of q over features and of k over positions."""
    real = scope.mask[:, None, :, None]
    q = q.softmax(-1)
    k = k.masked_fill(~real, torch.finfo(k.dtype).min)
    # A common factor of all positions cancels; the shift keeps exp in range.
    shift = k.amax(2, keepdim=True).detach()
    k = (k - shift).clamp(min=_LOWEST).exp() * real
    tiny = torch.finfo(q.dtype).tiny
    if scope.causal:
        return causal_sum(q / k.cumsum(2).clamp(min=tiny), k, v)
    k = k / k.sum(2, keepdim=True).clamp(min=tiny)
    return q @ (k.transpose(-1, -2) @ v)


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
    m = min(most, mask.shape[1])
    place = mask.cumsum(1) - 1
    length = mask.sum(1, keepdim=True)
    segment = torch.where(length > m, place * m // length.clamp(min=1), place)
    member = (segment[:, None, :] == torch.arange(m, device=mask.device)[:, None]) & mask[:, None, :]
    size = member.sum(-1)
    return member / size.clamp(min=1)[..., None], size > 0


def nystrom(q: Tensor, k: Tensor, v: Tensor, scope: Scope) -> Tensor:
    """Nystrom attention with segment means; exact where a text has no more tokens than landmarks."""
    means, exists = _landmarks(scope.mask, scope.landmarks)
    means = means[:, None].to(q.dtype)
    exists = exists[:, None, :]
    q = q / q.shape[-1] ** 0.5
    q_mean, k_mean = means @ q, means @ k
    lowest = torch.finfo(q.dtype).min
    real = scope.mask[:, None, None, :]
    there = exists[:, :, None, :]
    to_landmarks = (q @ k_mean.transpose(-1, -2)).masked_fill(~there, lowest).softmax(-1) * there
    between = (q_mean @ k_mean.transpose(-1, -2)).masked_fill(~there, lowest).softmax(-1)
    # Rows and columns of missing landmarks are zero, and stay zero in the inverse.
    between = between * (there & exists[:, :, :, None])
    from_tokens = (q_mean @ k.transpose(-1, -2)).masked_fill(~real, lowest).softmax(-1) * real
    return to_landmarks @ (pseudo_inverse(between) @ (from_tokens @ v))


ATTENTION: dict[str, Kernel] = {
    "softmax": softmax,
    "plain": plain,
    "linear-elu": linear_elu,
    "linear-softmax": linear_softmax,
    "nystrom": nystrom,
}
