"""What fields of `metrics.jsonl` are called on an axis, with their unit.

Not for tables (`cli/summary.py`, `cli/evaluate.py`), which have less room and other names.
"""

__all__ = ["said"]

_NAMES = {
    "step": "steps",
    "epoch": "epochs",
    "seconds": "seconds of training",
    "tokens": "tokens trained on",
    "parameters": "parameters",
    "loss": "loss in training",
    "lr": "learning rate",
    "grad_norm": "norm of the gradient",
    "tokens_per_second": "tokens per second",
    "mfu": "share of the peak that is used (MFU)",
    "val_loss": "log loss on validation (nats)",
    "val_masked_loss": "log loss of masked tokens on validation (nats)",
    "val_next_sentence": "accuracy of the next sentence on validation",
    "val_perplexity": "perplexity on validation",
    "val_bits_per_byte": "bits per byte on validation",
    "val_bleu": "BLEU on validation",
    "val_accuracy": "accuracy on validation",
    "val_macro_f1": "macro-F1 on validation",
    "val_divergence": "KL to the teacher on validation (nats)",
    "val_agreement": "agreement with the teacher on validation",
    "accuracy": "chosen answer preferred (share)",
    "margin": "margin of implicit rewards",
    "reward_mean": "mean reward",
    "reward_median": "median reward",
    "reward_std": "standard deviation of the reward",
    "kl": "KL to the base (nats an answer)",
    "kl_sampled": "KL to the base, of samples (nats an answer)",
    "kl_coefficient": "weight of the KL penalty",
    "entropy": "entropy (nats a token)",
    "distinct_1": "distinct words (share)",
    "distinct_2": "distinct pairs of words (share)",
    "length": "tokens of an answer",
    "policy_loss": "loss of the policy",
    "value_loss": "loss of the value",
    "clip_share": "share of clipped ratios",
}


def said(field: str) -> str:
    """Returns what people call a field; of one that has no row here its words."""
    return _NAMES.get(field, field.replace("val_", "validation ", 1).replace("_", " "))
