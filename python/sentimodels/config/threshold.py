"""`ThresholdRule`: by which rule the thresholds of a run are chosen, as `train.threshold` names it."""

from dataclasses import dataclass

__all__ = ["RULES", "ThresholdRule"]

# By name: the metavar of its value, and what thresholds it chooses.
RULES = {
    "macro_f1": ("", "the highest macro F1"),
    "precision": ("P", "as many answers as have this precision"),
    "recall": ("P", "the most precise answers that have this recall"),
    "confidence": ("P", "this probability for every label"),
    "cost": ("FILE", "the least expected cost, by a file of what mistakes cost"),
}
_EXPECTED = ", ".join(f"{name}={value}" if value else name for name, (value, _) in RULES.items())


@dataclass(frozen=True)
class ThresholdRule:
    """A rule.

    Attributes:
        name: one of `RULES`.
        target: the share that `precision`, `recall` or `confidence` names.
        file: the file of costs.
    """

    name: str
    target: float = 0.0
    file: str = ""

    @classmethod
    def of(cls, written: str) -> "ThresholdRule":
        """Reads a rule, such as `precision=0.9`.

        Raises:
            ValueError: if it is not a rule.
        """
        name, equals, value = written.partition("=")
        if name not in RULES or bool(equals) != bool(RULES[name][0]):
            raise ValueError(f"threshold {written}: expected one of {_EXPECTED}")
        if name == "cost":
            if not value:
                raise ValueError(f"threshold {written}: name the file of costs, as in cost=costs.csv")
            return cls(name, file=value)
        if not equals:
            return cls(name)
        try:
            target = float(value)
        except ValueError:
            target = -1.0
        if not 0 < target <= 1:
            raise ValueError(f"threshold {written}: expected a number above 0 and up to 1, as in {name}=0.9")
        return cls(name, target)

    def __str__(self) -> str:
        """Writes it as it is read."""
        if self.name == "cost":
            return f"cost={self.file}"
        return f"{self.name}={self.target:g}" if self.target else self.name
