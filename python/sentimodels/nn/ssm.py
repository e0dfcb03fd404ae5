"""The selective state space of Mamba-2, as a plain loop and as chunked matrix products.

Recurrence (Dao and Gu 2024, eq. 1, scalar A per head; zero-order hold on A):
    h[t] = exp(a[t]) h[t-1] + x[t] b[t]^T,    y[t] = h[t] c[t]
with x (B, T, H, P) already scaled by its step, a (B, T, H) = step * A <= 0, and b, c
(B, T, N) shared by the heads. `scan_chunked` is the "state space duality": quadratic
within a chunk, a recurrence between chunks, O(T).
Sums are formed in float32 at least, whatever autocast says. A padded token enters neither
convolution nor state; a backward pass first turns each text round by its own length
(`nn/recurrent.py`), for which padding must lie on the right.

Sizes, by the paper's letters except for M, which is a matrix there:
    B  batch, texts
    T  tokens of a text, padding included
    D  d_model, width of the states that come in and go out
    H  heads, d_inner / P; each decays at its own rate
    P  d_head, features of one head (K in other bricks); d_inner = H * P
    N  d_state, values of the hidden state for each feature
    Q  `chunk`, steps taken at once; fewer in the last chunk of a text
    M  channels of the convolution, H * P + 2 * N: x, b and c concatenated

Tensors, with the paper's letter where it is another; none has a unit but steps and rates:
    t      place of a token, 0 to T - 1
    x      (B, T, H, P): the input; for a scan times its step, in `_convolved` (B, M, T)
    y      (B, T, H, P): the output
    step   (B, T, H) > 0, dt or Delta: time that a token takes; 0 at padding; (H,) where it starts
    A      (H,) < 0: rate of decay, in 1 / time; -exp(`log_decay`), and `decay` in `forward`
    a      (B, T, H) <= 0, dt * A: natural logarithm of the share of h that is kept at a token;
           `decay` (B, H, T) in `scan_chunked`, summed from the chunk's start `total` (B, H, Q)
    b      (B, T, N), B: how x is written into the state; shared by the heads (one group)
    c      (B, T, N), C: how y is read from the state; shared likewise
    h      `state`, (B, H, P, N) in `scan_sequential`, (B, H, N, P) in `scan_chunked` and caches
    skip   (H,), D, which is not the size: share of x, before it is scaled, that is added to y
    gate   (B, T, H * P), z in the paper's code: y is multiplied by SiLU(z)
    xbc    (B, T, M): x, b and c before they are divided
    xs, bs, cs   one chunk: (B, H, Q, P), (B, 1, Q, N) and (B, 1, Q, N)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .backbone import Entry

__all__ = ["SelectiveMixer", "scan_chunked", "scan_sequential"]


def scan_sequential(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """Runs the recurrence step by step: the reference implementation, for tests."""
    batch, n_tokens, heads, width = x.shape
    state = x.new_zeros(batch, heads, width, b.shape[-1])
    out = []
    for t in range(n_tokens):
        inward = x[:, t, :, :, None] * b[:, t, None, None, :]
        state = a[:, t].exp()[..., None, None] * state + inward
        out.append((state * c[:, t, None, None, :]).sum(-1))
    return torch.stack(out, 1)


def scan_chunked(
    x: Tensor, a: Tensor, b: Tensor, c: Tensor, chunk: int = 64, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Runs the recurrence by matrix products over chunks of `chunk` steps.

    Args:
        x: (B, T, H, P).
        a: (B, T, H).
        b: (B, T, N).
        c: (B, T, N).
        chunk: steps taken at once.
        state: (B, H, N, P) after the tokens before; without it zero.

    Returns:
        y (B, T, H, P), and the state after the last step.
    """
    if torch.compiler.is_exporting():
        assert state is None
        return _scan_exported(x, a, b, c, chunk), x.new_zeros(())  # nothing reads the state of a graph
    heads_first = x.transpose(1, 2)  # (B, H, T, P)
    decay = a.transpose(1, 2)  # (B, H, T)
    if state is None:
        state = x.new_zeros(*heads_first.shape[:2], b.shape[-1], x.shape[-1])  # (B, H, N, P)
    parts = []
    for start in range(0, x.shape[1], chunk):
        part = slice(start, start + chunk)
        xs, bs, cs = heads_first[:, :, part], b[:, None, part], c[:, None, part]
        total = decay[:, :, part].cumsum(-1)  # log decay since the chunk began
        steps = total.shape[-1]
        lower = torch.ones(steps, steps, dtype=torch.bool, device=x.device).tril()
        # exp only where row >= column: above, the difference is positive and may overflow.
        between = (total[..., :, None] - total[..., None, :]).masked_fill(~lower, float("-inf")).exp()
        inside = ((cs @ bs.transpose(-1, -2)) * between) @ xs
        before = (cs @ state) * total.exp()[..., None]
        parts.append(inside + before)
        rest = (total[..., -1:] - total).exp()[..., None]  # decay until the chunk ends
        state = total[..., -1, None, None].exp() * state + bs.transpose(-1, -2) @ (xs * rest)
    return torch.cat(parts, 2).transpose(1, 2), state


def _scan_exported(x: Tensor, a: Tensor, b: Tensor, c: Tensor, chunk: int) -> Tensor:
    """Runs the recurrence over all chunks at once, because a graph cannot loop over a number of them.

    Between chunks it is the quadratic form of the same recurrence: a chunk's first state is the sum of what
    earlier chunks have left, each decayed by the chunks in between.

    Args:
        x: (B, T, H, P).
        a: (B, T, H).
        b: (B, T, N).
        c: (B, T, N).
        chunk: Q, steps of a chunk; the last one is filled up with steps that change nothing.
    """
    n_tokens = x.shape[1]
    number = torch.arange((n_tokens + chunk - 1) // chunk, device=x.device)
    place = number[:, None] * chunk + torch.arange(chunk, device=x.device)  # (n, Q)
    there = place < n_tokens
    place = place.clamp(max=n_tokens - 1)
    xs = (x[:, place] * there[..., None, None]).permute(0, 3, 1, 2, 4)  # (B, H, n, Q, P)
    decay = (a[:, place] * there[..., None]).permute(0, 3, 1, 2)  # (B, H, n, Q)
    bs, cs = b[:, None, place], c[:, None, place]  # (B, 1, n, Q, N)
    total = decay.cumsum(-1)
    lower = torch.ones(chunk, chunk, dtype=torch.bool, device=x.device).tril()
    between = (total[..., :, None] - total[..., None, :]).masked_fill(~lower, float("-inf")).exp()
    inside = ((cs @ bs.transpose(-1, -2)) * between) @ xs
    whole = total[..., -1]  # (B, H, n), log decay of each chunk
    left = bs.transpose(-1, -2) @ (xs * (whole[..., None] - total).exp()[..., None])  # (B, H, n, N, P)
    ends = whole.cumsum(-1)
    gap = (ends - whole)[..., :, None] - ends[..., None, :]
    gap = gap.masked_fill(number[:, None] <= number, float("-inf")).exp()  # (B, H, n, n)
    before = (gap @ left.flatten(-2)).unflatten(-1, left.shape[-2:])
    y: Tensor = (inside + (cs @ before) * total.exp()[..., None]).flatten(2, 3)
    return y[:, :, torch.arange(n_tokens, device=x.device)].transpose(1, 2)


class SelectiveMixer(nn.Module):
    """One Mamba-2 mixer: project, short convolution, selective scan, gate, project.

    Args:
        d_model: width of the states.
        d_state: N, width of the hidden state for each feature.
        d_conv: places the short convolution sees.
        expand: inner width over d_model.
        d_head: features that share one decay.
    """

    def __init__(self, d_model: int, d_state: int, d_conv: int, expand: float, d_head: int) -> None:
        super().__init__()
        self.d_inner = int(expand * d_model) // d_head * d_head
        self.d_state = d_state
        self.n_heads = self.d_inner // d_head
        mixed = self.d_inner + 2 * d_state
        self.project_in = nn.Linear(d_model, self.d_inner + mixed + self.n_heads, bias=False)
        self.convolution = nn.Conv1d(mixed, mixed, d_conv, groups=mixed, padding=d_conv - 1)
        # Steps start spread over 0.001 to 0.1, decays over 1 to 16, as in the paper's code.
        step = torch.exp(torch.linspace(-6.9, -2.3, self.n_heads))
        self.dt_bias = nn.Parameter(step + torch.log(-torch.expm1(-step)))
        self.log_decay = nn.Parameter(torch.linspace(1, 16, self.n_heads).log())
        self.skip = nn.Parameter(torch.ones(self.n_heads))
        self.norm = nn.RMSNorm(self.d_inner, eps=1e-5)
        self.project_out = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, states: Tensor, mask: Tensor | None = None, entry: Entry | None = None) -> Tensor:
        """Mixes `states` (B, T, D) from left to right.

        Args:
            states: what to mix.
            mask: (B, T), True at real tokens; `None`: all are.
            entry: the layer's part of a cache, which this call reads and extends.
        """
        n_tokens = states.shape[1]
        mixed = self.d_inner + 2 * self.d_state
        if mask is not None:
            states = states * mask[..., None]
        gate, xbc, step = torch.split(self.project_in(states), [self.d_inner, mixed, self.n_heads], -1)
        xbc = F.silu(self._convolved(xbc.transpose(1, 2), entry)[..., :n_tokens].transpose(1, 2))
        step = F.softplus(step + self.dt_bias)  # (B, T, H)
        if mask is not None:
            step = step * mask[..., None]  # no input, no decay
        x, b, c = torch.split(xbc, [self.d_inner, self.d_state, self.d_state], -1)
        x = x.unflatten(-1, (self.n_heads, -1))  # (B, T, H, P)
        with torch.autocast(x.device.type, enabled=False):
            wide = torch.promote_types(x.dtype, torch.float32)
            step, decay = step.to(wide), -self.log_decay.to(wide).exp()
            y, state = scan_chunked(
                x.to(wide) * step[..., None],
                decay * step,
                b.to(wide),
                c.to(wide),
                state=entry.get("state") if entry else None,
            )
            y = y + self.skip[:, None] * x
        if entry is not None:
            entry["state"] = state
        out: Tensor = self.project_out(self.norm(y.flatten(-2) * F.silu(gate)))
        return out

    def _convolved(self, x: Tensor, entry: Entry | None) -> Tensor:
        """Convolves `x` (B, M, T) with the tokens before, or with zeros."""
        if entry is None:
            out: Tensor = self.convolution(x)
            return out
        before = self.convolution.kernel_size[0] - 1
        last = entry.get("inputs", x.new_zeros(*x.shape[:2], before))
        x = torch.cat((last, x), 2)
        entry["inputs"] = x[:, :, x.shape[2] - before :]
        weight, bias = self.convolution.weight, self.convolution.bias
        return F.conv1d(x, weight, bias, groups=self.convolution.groups)
