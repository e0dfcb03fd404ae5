"""RNN, GRU and LSTM, one- and two-way, stacked, without packing.

Every direction reads left to right over right-padded texts, so padding comes last and
changes nothing; the backward direction reads each text turned round by its own length.
Equal to `torch.nn` on packed sequences (tests), and torch's fused kernels apply.
Recurrent weights start orthogonal, the LSTM's forget gate at one (Jozefowicz et al. 2015).
"""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .backbone import Entry

__all__ = ["CellKind", "Recurrent", "reversal", "turn"]

CellKind = Literal["rnn", "gru", "lstm"]
_CELLS: dict[str, type[nn.RNN | nn.GRU | nn.LSTM]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def reversal(mask: Tensor) -> Tensor:
    """Returns the places (B, T) that turn each text round; padding stays where it is."""
    length = mask.sum(1, keepdim=True)
    place = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(place < length, length - 1 - place, place)


def turn(x: Tensor, places: Tensor) -> Tensor:
    """Reorders the tokens of `x` (B, T, D) by `places` (B, T)."""
    return x.gather(1, places[..., None].expand(-1, -1, x.shape[-1]))


class Recurrent(nn.Module):
    """A stack of recurrent layers; states are (B, T, `d_out`), backward features last.

    Args:
        kind: the cell.
        d_in: width of the input.
        d_hidden: width of a layer's states; two-way, each direction has half.
        n_layers: layers.
        bidirectional: whether to read both ways.
        dropout: share of features dropped between layers.
    """

    def __init__(
        self, kind: CellKind, d_in: int, d_hidden: int, n_layers: int, bidirectional: bool, dropout: float
    ) -> None:
        super().__init__()
        self.d_out = d_hidden
        self.dropout = dropout
        width = d_hidden // 2 if bidirectional else d_hidden
        self.backward_width = width if bidirectional else 0
        layers = []
        for layer in range(n_layers):
            wide = d_in if layer == 0 else d_hidden
            cells = [_CELLS[kind](wide, width, batch_first=True) for _ in range(1 + bidirectional)]
            for cell in cells:
                _start(cell)
            layers.append(nn.ModuleList(cells))
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, mask: Tensor | None = None, entries: list[Entry] | None = None) -> Tensor:
        """Reads `x` (B, T, D).

        Args:
            x: the embeddings.
            mask: (B, T), True at real tokens, padding on the right; `None`: all are real.
            entries: a cache's part for each layer, which this call reads and extends.

        Raises:
            ValueError: if padded texts are to be cached.
        """
        if entries is not None and mask is not None:
            raise ValueError(
                "a recurrent network reads padding too: with a cache give texts of one length, and no mask"
            )
        if x.device.type == "cpu":  # not every CPU has recurrent kernels in bfloat16
            with torch.autocast("cpu", enabled=False):
                return self._read(x.float() if x.dtype == torch.bfloat16 else x, mask, entries)
        return self._read(x, mask, entries)

    def _read(self, x: Tensor, mask: Tensor | None, entries: list[Entry] | None) -> Tensor:
        places = None
        if self.backward_width and mask is not None:
            places = reversal(mask)
        for number, cells in enumerate(self.layers):
            if number:
                x = F.dropout(x, self.dropout, self.training)
            # 2026-11-23: a list of modules, which torch types as one
            states, after = cells[0](x, _state(entries[number]) if entries else None)  # type: ignore[index]
            if entries:
                entries[number] |= _named(after)
            if self.backward_width:
                turned = x.flip(1) if places is None else turn(x, places)
                # 2026-11-23: a list of modules, which torch types as one
                backward = cells[1](turned)[0]  # type: ignore[index]
                back = backward.flip(1) if places is None else turn(backward, places)
                states = torch.cat((states, back), -1)
            x = states
        return x


def _state(entry: Entry) -> Tensor | tuple[Tensor, Tensor] | None:
    """Returns the state of a cell that an entry holds; torch has a dimension for layers before the rows."""
    if not entry:
        return None
    hidden = entry["hidden"][None]
    return (hidden, entry["cell"][None]) if "cell" in entry else hidden


def _named(state: Tensor | tuple[Tensor, Tensor]) -> Entry:
    """Returns the state of a cell as an entry."""
    if isinstance(state, Tensor):
        return {"hidden": state[0]}
    return {"hidden": state[0][0], "cell": state[1][0]}


def _start(cell: nn.RNNBase) -> None:
    """Sets the weights a cell starts from."""
    width = cell.hidden_size
    for name, weight in cell.named_parameters():
        if name.startswith("weight_hh"):
            for gate in torch.split(weight.data, width):
                nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            for gate in torch.split(weight.data, width):
                nn.init.xavier_uniform_(gate)
        else:
            nn.init.zeros_(weight)
    if isinstance(cell, nn.LSTM):
        # torch orders the gates input, forget, cell, output, and adds both biases.
        dict(cell.named_parameters())["bias_ih_l0"].data[width : 2 * width] = 1.0
