"""`Backbone`: from ids to a state for each token, the same call for every architecture.

A head (the other files of `nn/`) turns states into what a task needs. Attributes say what a backbone can do,
so that a head or a task asks no type. Not for logits, losses or training.
"""

from torch import Tensor, nn

from ..errors import ConfigError
from .cache import Cache
from .embedding import NgramEmbedding, TokenEmbedding

__all__ = ["Backbone"]


class Backbone(nn.Module):
    """What every backbone is.

    Attributes:
        embedding: from ids to vectors; a tied head reads its `weight`. `None` where nothing is learned.
        d_out: D, width of a state.
        backward_width: how many of the D features, the last ones, read from right to left.
        n_prefix: places that are put before each text; states are that much longer than ids.
        causal: whether a state depends on its token and those before it alone.
        n_cached: entries that a cache needs.
        has_positions: whether it takes positions; one without knows the order of tokens alone, and
            keeps a state of one size however long the text is.
        pads_left: whether cached texts may be padded on the left.
    """

    embedding: TokenEmbedding | None
    d_out: int
    backward_width: int = 0
    n_prefix: int = 0
    causal: bool = False
    n_cached: int = 0
    has_positions: bool = True
    pads_left: bool = True

    def forward(
        self,
        input_ids: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
        cache: Cache | None = None,
        **ngrams: Tensor,
    ) -> Tensor:
        """Returns states (B, T, D).

        Args:
            input_ids: (B, T).
            mask: (B, T), True at real tokens; `None`: all are, and the fastest kernels run.
            segments: (B, T), which segment a token is of, where a backbone has segments.
            positions: (T,) or (B, T), where positions are not simply 0, 1, 2, ...
            cache: from `new_cache`; ids are then the tokens that follow those read with it.
            ngrams: what `NgramEmbedding` reads, from a batch.
        """
        raise NotImplementedError

    def new_cache(self) -> Cache:
        """Returns an empty cache for one batch of texts.

        Raises:
            ConfigError: if a state depends on tokens to come, so that none can be kept.
        """
        if not self.causal:
            raise ConfigError(
                f"{type(self).__name__} reads tokens to come: nothing can be cached; "
                "gpt with model.causal = true, mamba and lstm with model.bidirectional = false have a cache"
            )
        return Cache.of(self.n_cached)

    def token_table(self) -> Tensor:
        """Returns the learned vectors (V, D) of the tokens, which a tied head reads.

        Raises:
            ConfigError: if this backbone learns none, or composes them of n-grams.
        """
        embedding = self.embedding
        if embedding is None or isinstance(embedding, NgramEmbedding):
            raise ConfigError(
                f"{type(self).__name__} has no vector for each token alone, which a tied head would read: "
                "set model.char_ngrams = [0, 0]"
            )
        return embedding.weight

    def tie(self) -> None:
        """Tells the embedding that a head reads its table whole."""
        self.token_table()
        assert self.embedding is not None
        self.embedding.tied = True

    def _no(self, **given: object) -> None:
        """Refuses what this backbone does not read.

        Raises:
            ValueError: naming it.
        """
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{type(self).__name__} takes no {name}")
