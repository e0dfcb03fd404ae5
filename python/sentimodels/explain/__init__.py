"""What each token of a text adds to the scores of the classes, so that the parts sum up to the whole.

Networks by integrated gradients (`integrated_gradients.py`), bags of n-grams exactly, as weight times
value (`bags.py`). Not for probabilities without a token, which do not sum up (`leave_one_out.py`). The
score of a class is its logit over the temperature, less the mean over the classes: the softmax of
scores is the probabilities, and of two classes the difference of scores is the log odds.
"""

from ..classifier import Classifier
from .attribution import Attribution, Feature
from .bags import attribute_bag, is_bag
from .integrated_gradients import MOST_GRADIENTS, TOLERANCE, attribute_network

__all__ = ["MOST_GRADIENTS", "TOLERANCE", "Attribution", "Feature", "attribute"]


def attribute(
    classifier: Classifier, text: str, *, tolerance: float = TOLERANCE, most: int = MOST_GRADIENTS
) -> Attribution:
    """Returns what each token adds to the score of each class.

    Args:
        classifier: the run.
        text: the text.
        tolerance: what the parts may miss of the whole; a bag misses nothing but rounding.
        most: gradients at most, whether the tolerance is met by then or not.

    Raises:
        DataError: if the text is longer than the run reads at once.
    """
    if is_bag(classifier.module):
        return attribute_bag(classifier, text)
    return attribute_network(classifier, text, tolerance=tolerance, most=most)
