"""The contribution of each token of a text to the scores of the classes; contributions sum up to the whole.

Networks by integrated gradients (`integrated_gradients.py`), bags of n-grams exactly, as weight times value
(`bags.py`). The score of a class is its logit over the temperature, less the mean over the classes: the
softmax of scores is the probabilities, and of two classes the difference of scores is the log odds. Of texts
with several labels, it is the logit over the temperature alone, the log odds of the label.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..classifier import Classifier
from ..errors import ConfigError
from ..evaluation.predictions import Predictor, answer
from .attribution import Attribution, Feature
from .bags import attribute_bag, is_bag
from .integrated_gradients import MOST_GRADIENTS, TOLERANCE, attribute_network
from .leave_one_out import Effects, leave_one_out, leave_words_out

__all__ = [
    "EXPLAINERS",
    "MOST_GRADIENTS",
    "TOLERANCE",
    "Attribution",
    "Effects",
    "Explainer",
    "Feature",
    "attribute",
    "explain",
]


def attribute(
    classifier: Classifier, text: str, *, tolerance: float = TOLERANCE, most: int = MOST_GRADIENTS
) -> Attribution:
    """Returns the contribution of each token to the score of each class.

    Args:
        classifier: the run.
        text: the text.
        tolerance: how much the parts may miss of the whole; a bag misses nothing but rounding.
        most: gradients at most, whether the tolerance is met by then or not.

    Raises:
        DataError: if the text is longer than the run reads at once.
    """
    if is_bag(classifier.module):
        return attribute_bag(classifier, text)
    return attribute_network(classifier, text, tolerance=tolerance, most=most)


@dataclass(frozen=True)
class Explainer:
    """One row of the table of explainers.

    Attributes:
        explain: from a predictor and a text to what its tokens add: to the scores (`Attribution`), or to the
            probabilities (`Effects`). Further arguments limit its work.
        of_ensembles: whether it explains whatever answers texts; otherwise it explains a single run.
    """

    explain: Callable[..., Attribution | Effects]
    of_ensembles: bool = False


def _left_out(predictor: Predictor, text: str, **_: object) -> Effects:
    if isinstance(predictor, Classifier):
        return leave_one_out(predictor, text)
    return leave_words_out(lambda texts: answer(predictor, texts)[0], text)


# By the name of `--method`.
EXPLAINERS: Mapping[str, Explainer] = MappingProxyType(
    {
        "leave-one-out": Explainer(_left_out, of_ensembles=True),
        "integrated-gradients": Explainer(attribute),
    }
)


def explain(
    predictor: Predictor, text: str, method: str | None = None, **limits: float
) -> tuple[str, Attribution | Effects]:
    """Returns the method, as the result calls it, and the contribution of each token to the answer.

    Args:
        predictor: a run or an ensemble.
        text: the text.
        method: one of `EXPLAINERS`; integrated gradients of a run and leave-one-out of an ensemble if not
            given.
        limits: arguments of the explainer, such as `tolerance`.

    Raises:
        ConfigError: if there is no such method, or it does not explain an ensemble.
        DataError: if the text is too long.
    """
    is_run = isinstance(predictor, Classifier)
    name = method or ("integrated-gradients" if is_run else "leave-one-out")
    if name not in EXPLAINERS:
        raise ConfigError(f"method {name!r}: expected {' or '.join(EXPLAINERS)}")
    if not is_run and not EXPLAINERS[name].of_ensembles:
        others = " or ".join(other for other, row in EXPLAINERS.items() if row.of_ensembles)
        raise ConfigError(f"method {name!r}: an ensemble is several models; take {others}, or one run of it")
    found = EXPLAINERS[name].explain(predictor, text, **limits)
    return (found.method if isinstance(found, Attribution) else name), found
