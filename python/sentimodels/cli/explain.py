"""`senti explain`: the contribution of each token of a text to the answer of a run.

Blue raises the explained answer, orange lowers it, as on the page; the table gives the same in numbers, for
pipes and for readers who cannot distinguish the colours.
"""

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sentitok.cli.process import stdin

from .command import AsJson, Output, Quiet, Traceback, UsageError, add
from .tables import READ_WHOLE, Device, Windows, grid, on_screen, page, refuse_idle_windows, shortened

if TYPE_CHECKING:
    from rich.text import Text

    from ..explain import Attribution, Effects

# Cells of the longest bar.
_WIDEST = 20
# Red, green and blue of tokens that raise and tokens that lower, at their strongest.
_MORE, _LESS = (0, 90, 181), (205, 110, 0)


def _methods() -> list[str]:
    from ..explain import EXPLAINERS

    return list(EXPLAINERS)


def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run directory or ensemble.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Text to explain. [default: stdin, as one text]")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Method: integrated-gradients or leave-one-out. [default: integrated-gradients; "
            "leave-one-out for an ensemble]",
            autocompletion=_methods,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", metavar="LABEL", help="Label whose score to explain. [default: the likeliest label]"
        ),
    ] = None,
    top: Annotated[
        int, typer.Option("--top", min=1, metavar="N", help="Number of tokens to list, the strongest first.")
    ] = 20,
    tolerance: Annotated[
        float,
        typer.Option(
            "--tolerance",
            metavar="GAP",
            help="Maximum difference between the score and the sum of the parts, with integrated gradients.",
        ),
    ] = 0.001,
    windows: Windows = False,
    device: Device = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> None:
    """Show what each token of a text adds to the answer of a run.

    Integrated gradients divide the score of a label, less that of a text without known words, among the
    tokens; for tfidf, nb and bow they are exact: weight times value. leave-one-out predicts again without
    each token.
    """
    output = Output("senti.explain/1", as_json=as_json, quiet=quiet)
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise UsageError(f"--tolerance {tolerance}: expected a number above 0")
    from ..data.encoded import Cut
    from ..evaluation.answers import answers_of
    from ..evaluation.predictions import answer
    from ..explain import EXPLAINERS
    from ..explain import explain as explained_by
    from ..predictor import load_predictor
    from ..runs.ensemble import members_of
    from ..runs.families import CLASSIFIER

    if method not in (None, *EXPLAINERS):
        raise UsageError(f"--method {method}: expected {' or '.join(EXPLAINERS)}")
    if members_of(run) is None:
        CLASSIFIER.load(run)  # which names another kind of model before its files are looked at
    if windows:
        refuse_idle_windows([run])
    predictor = load_predictor(run, device, windows=windows)
    given = _of_stdin() if text is None else text
    place = None if label is None else predictor.labels.index(label)
    name, explained = explained_by(predictor, given, method, tolerance=tolerance)
    unread = answer(predictor, [given])[1]
    if said := Cut.of(unread).said(getattr(predictor, "max_tokens", None)):
        output.note(f"{said}: words that are not read have no effect{READ_WHOLE}")
    chosen = int(explained.probs.argmax()) if place is None else place
    [decided] = answers_of(predictor.labels).decide(explained.probs[None])
    answered = predictor.labels.value(decided)
    value = _value(name, explained, given, list(predictor.labels), chosen, answered) | {
        "cut": bool(unread[0] > 0)
    }
    output.result(value, _page(value, given, top), predictor.labels.cell(decided))


def _of_stdin() -> str:
    try:
        return io.TextIOWrapper(stdin(), "utf-8", errors="strict").read().rstrip("\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"stdin is not UTF-8 ({error.reason}); give the text as an argument") from error


def _value(
    method: str,
    explained: "Attribution | Effects",
    text: str,
    labels: list[str],
    chosen: int,
    answered: str | list[str],
) -> dict[str, Any]:
    """Returns what `--json` prints; numbers of all labels are in the order of `labels`."""
    from ..explain import Attribution

    tokens = [
        {
            "text": token.text, "start": token.start, "end": token.end, "id": token.id,
            "special": token.special, "effects": effects,
        }
        for token, effects in zip(explained.tokens, explained.effects.tolist(), strict=True)
    ]  # fmt: skip
    value: dict[str, Any] = {
        "text": text,
        "label": answered,
        "explained": labels[chosen],
        "labels": labels,
        "probs": explained.probs.tolist(),
        "method": method,
        "tokens": tokens,
    }
    if isinstance(explained, Attribution):
        value |= {
            "scores": explained.scores.tolist(),
            "baseline": explained.baseline.tolist(), "gap": explained.gap,
            "n_gradients": explained.n_gradients,
        }  # fmt: skip
        if explained.features is not None:
            value["features"] = [
                {"text": one.text, "places": one.places, "effects": one.effects.tolist()}
                for one in explained.features
            ]
    return value


def _page(value: dict[str, Any], text: str, top: int) -> str:
    chosen = value["labels"].index(value["explained"])
    effects = [token["effects"][chosen] for token in value["tokens"]]
    greatest = max((abs(effect) for effect in effects), default=0.0)
    rows = sorted(range(len(effects)), key=lambda place: -abs(effects[place]))
    listed = [
        (value["tokens"][place]["text"], _places(value["tokens"][place]), effects[place])
        for place in rows
        if not value["tokens"][place]["special"]
    ]
    summed = "scores" in value
    what = f"score of {value['explained']}" if summed else f"probability of {value['explained']}"
    answer = ", ".join(f"{label} {p:.4f}" for label, p in zip(value["labels"], value["probs"], strict=True))
    if summed and not any(effects):
        return page(answer, "The run knows no word of this text: this is its answer to a text without words.")
    parts: list[Any] = [
        answer,
        _coloured(value["tokens"], text, effects, greatest),
        _effect_grid(f"Effect on the {what}, {value['method']}", "token", listed[:top], greatest),
    ]
    if len(listed) > top:
        weaker = "1 weaker token is" if len(listed) == top + 1 else f"{len(listed) - top} weaker tokens are"
        parts.append(f"{weaker} not listed; --top {len(listed)} lists all")
    if "features" in value:
        named = [
            (one["text"], ", ".join(f"{a}-{b}" for a, b in one["places"][:3]), one["effects"][chosen])
            for one in value["features"][:top]
        ]
        parts.append(_effect_grid("Effect of the n-grams", "n-gram", named, greatest))
    if summed:
        whole, before = value["scores"][chosen], value["baseline"][chosen]
        parts.append(
            f"The effects sum to {sum(effects):+.4f}: score {whole:.4f} less {before:.4f}, the score of a "
            f"text without known words (error {value['gap']:.1e}"
            + (f", {value['n_gradients']} gradients)" if value["n_gradients"] else ")")
        )
    return page(*parts)


def _places(token: dict[str, Any]) -> str:
    return f"{token['start']}-{token['end']}"


def _effect_grid(title: str, what: str, rows: list[tuple[str, str, float]], greatest: float) -> Any:
    return grid(
        title,
        [what, "place", "", "effect"],
        [
            [shortened(name, 40), place, _bar(effect, greatest), f"{effect:+.4f}"]
            for name, place, effect in rows
        ],
    )


def _bar(effect: float, greatest: float) -> str:
    """Draws a strength as wide as it is: raising as `+`, lowering as `-`."""
    width = round(_WIDEST * abs(effect) / greatest) if greatest else 0
    return ("+" if effect > 0 else "-") * min(width, _WIDEST)


def _coloured(tokens: list[dict[str, Any]], text: str, effects: list[float], greatest: float) -> "Text":
    """Returns the text with its tokens shaded; tokens that share a character, by the strongest of them."""
    from rich.text import Text

    shade = [0.0] * len(text)
    for token, effect in zip(tokens, effects, strict=True):
        for place in range(token["start"], token["end"]):
            if abs(effect) > abs(shade[place]):
                shade[place] = effect
    made = Text()
    for char, effect in zip(text, shade, strict=True):
        made.append(on_screen(char), _style(effect / greatest if greatest else 0.0))
    return made


def _style(strength: float) -> str:
    """Returns the style of a strength from -1 to 1."""
    if abs(strength) < 0.05:
        return ""
    red, green, blue = (
        round(255 - (255 - end) * abs(strength)) for end in (_MORE if strength > 0 else _LESS)
    )
    # Of 16 colours both may be the same one, so tokens that lower the label are underlined.
    line = " underline" if strength < 0 else ""
    return f"{'white' if abs(strength) > 0.6 else 'black'} on rgb({red},{green},{blue}){line}"


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    add(
        app,
        "explain",
        explain,
        'senti explain runs/first "great fun, but too long"',
        'senti explain runs/first "great fun" --method leave-one-out',
        'echo "great fun" | senti explain runs/first --json',
    )
