"""docs/results.md and the table of docs/senti.md, from result files alone.

Not for running anything (`run_all.py`), nor for bars and claims (`bars.py`, `claims.py`). Every number
comes from a result; what has none is called "not measured", with the command that measures it.
"""

import json
from pathlib import Path
from statistics import fmean, stdev

import against_trainer
import bars_page
import before_page
import claims
import distilled_page
import language_page
import translations
from bars import Others, Result, Results
from judged import all_judged
from markdown import from_what, missing, table
from result import ROOT
from rows import (
    AGAIN,
    BY_STEPS,
    CHOOSES_FOR_MR,
    CHOSEN,
    LANDMARKS,
    MEMORY,
    MIXTURE,
    REMEMBERING,
    SETS,
    TUNING,
    rows_of,
)

from sentimodels.evaluation.joint_intervals import Joint

PAGE = ROOT / "docs" / "results.md"
GUIDE = ROOT / "docs" / "senti.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
COMMAND = "python benches/models/run_all.py"
TITLES = {"tweets": "tweets", "imdb": "IMDB", "yelp": "Yelp sentences, 10 folds", "mr": "MR, 10 folds"}
PLACES = ("sealed", "kaggle", "kaggle_unseen", "sst5", "sst2")


def mean(of_row: list[Result], place: str, score: str) -> float:
    return fmean(float(one["scores"][place][score]) for one in of_row)


def cell(of_row: list[Result], place: str) -> str:
    """Accuracy with its deviation over seeds, and macro-F1."""
    if not of_row or place not in of_row[0]["scores"]:
        return "-"
    accuracy = f"{mean(of_row, place, 'accuracy'):.4f}"
    if len(of_row) > 1:
        accuracy += f" ± {stdev(float(one['scores'][place]['accuracy']) for one in of_row):.4f}"
    return f"{accuracy} / {mean(of_row, place, 'macro_f1'):.3f}"


def ends(joint: Joint) -> str:
    return f"{joint.low:.4f} to {joint.high:.4f}"


def names_of(of_set: str) -> list[str]:
    """All rows of a set, measured or not, in the order of tables."""
    made = [MIXTURE, *(row + MEMORY for row in REMEMBERING)] if of_set == "kaggle" else []
    return [*rows_of(of_set), *made]


def count(by_row: Results, of_set: str, name: str) -> str:
    """How many seeds there are; of how many, where some are missing."""
    there = len(by_row.get((of_set, name), []))
    asked = rows_of(of_set).get(name)
    if asked is None or there == asked.seeds:
        return str(there)
    return f"{there} of {asked.seeds}"


def interval(by_row: Results, of_set: str, name: str) -> str:
    if not by_row.get((of_set, name)) or "sealed" not in by_row[of_set, name][0]:
        return "-"
    return ends(claims.accuracy(by_row, of_set, name))


def scores_table(by_row: Results) -> str:
    lines = [
        "| model | parameters | seeds | dev | sealed | 95 % of sealed | Kaggle | Kaggle, unseen | SST-5 "
        "| SST-2 |",
        "|---|---:|---:|---|---|---|---|---|---|---|",
    ]
    for name in names_of("kaggle"):
        of_row = by_row.get(("kaggle", name), [])
        if not of_row:
            continue
        sealed, *rest = (cell(of_row, place) for place in PLACES)
        dev = cell(of_row, "dev_crossed" if name == MIXTURE else "dev") if AGAIN not in name else "-"
        cells = " | ".join([dev, sealed, interval(by_row, "kaggle", name), *rest])
        parameters = f"{of_row[0]['cost']['parameters']:,}"
        lines.append(f"| {name} | {parameters} | {count(by_row, 'kaggle', name)} | {cells} |")
    return "\n".join(lines)


def cost_table(by_row: Results) -> str:
    lines = [
        "| model | vocabulary | seconds | fitting | CPU seconds | load | tokens/s | padding | peak memory "
        "| kappa | ECE before, after |",
        "|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---|",
    ]
    for name in rows_of("kaggle"):
        of_row = by_row.get(("kaggle", name), [])
        if not of_row or AGAIN in name:
            continue
        one = min(of_row, key=lambda r: float(r["cost"]["seconds"]))
        cost = one["cost"]
        speed = f"{cost['tokens_per_second']:,.0f}" if cost["tokens_per_second"] else "-"
        padding = f"{100 * cost['padding']:.1f} %" if cost["padding"] is not None else "-"
        vocabulary = f"{cost['vocabulary']:,}" if cost.get("vocabulary") else "-"
        memory = f"{cost['peak_memory_bytes'] / 1e6:,.0f} MB"
        loads = ", ".join("-" if value is None else f"{value:.1f}" for value in one["stamp"]["load"])
        lines.append(
            f"| {name} | {vocabulary} | {cost['seconds']:.0f} | {cost['fit_seconds']:.1f} | "
            f"{cost['cpu_seconds']:.0f} | {loads} | {speed} | {padding} | {memory} | "
            f"{mean(of_row, 'sealed', 'quadratic_kappa'):.3f} | "
            f"{mean(of_row, 'sealed', 'ece_before'):.3f}, {mean(of_row, 'sealed', 'ece'):.3f} |"
        )
    return "\n".join(lines)


def other_table(by_row: Results) -> str:
    lines = [
        "| set | model | seeds | dev | sealed | 95 % of sealed | CPU seconds |",
        "|---|---|---:|---|---|---|---:|",
    ]
    for of_set in ("tweets", "imdb", "yelp", "mr"):
        for name in [*rows_of(of_set), CHOSEN] if of_set == "mr" else rows_of(of_set):
            if of_row := by_row.get((of_set, name), []):
                seconds = fmean(float(one["cost"]["cpu_seconds"]) for one in of_row)
                lines.append(
                    f"| {TITLES[of_set]} | {name} | {count(by_row, of_set, name)} | {cell(of_row, 'dev')} | "
                    f"{cell(of_row, 'sealed')} | {interval(by_row, of_set, name)} | {seconds:.0f} |"
                )
    return "\n".join(lines)


def speed_part(result: Result | None) -> str:
    if result is None:
        return missing(against_trainer.COMMAND, "minutes; needs accelerate")
    rows = [
        [side["name"], f"{side['tokens_per_second']:,.0f}", f"{side['times']:.2f}"]
        for side in result["sides"]
    ]
    about = result["stamp"]
    occasion = {**about, "git": about["commit"]}
    return f"{table(['trainer', 'tokens/s', 'ours, times'], rows)}\n\n{from_what(occasion)}"


def unmeasured_table(by_row: Results) -> str:
    """Rows without all of their seeds, what to type, and the minutes that were planned for them."""
    lines = ["| row | seeds there | type | planned, minutes of one core |", "|---|---:|---|---:|"]
    for of_set in SETS:
        for name, row in rows_of(of_set).items():
            missing = row.seeds - len(by_row.get((of_set, name), []))
            if missing:
                minutes = missing * row.minutes * (2 if name.endswith(AGAIN) else 1)
                lines.append(
                    f"| {of_set}: {name} | {count(by_row, of_set, name)} | `{COMMAND} '{of_set}:{name}'` | "
                    f"{max(1, round(minutes))} |"
                )
    if ("kaggle", MIXTURE) not in by_row:
        lines.append(f"| kaggle: {MIXTURE} | 0 | `{COMMAND} mixture` | 1 |")
    if ("mr", CHOSEN) not in by_row:
        lines.append(f"| mr: {CHOSEN} | 0 | `{COMMAND} mr` | 10 |")
    return "\n".join(lines) if len(lines) > 2 else "Nothing."


def mixture_part(by_row: Results) -> str:
    if ("kaggle", MIXTURE) not in by_row:
        return f"Not measured; type `{COMMAND} mixture` when some rows are there."
    (result,) = by_row["kaggle", MIXTURE]
    rows = sorted({one["row"] for one in result["among"]})
    named = "; ".join(f"{one['row']}, seed {one['seed']} ({one['weight']:.2f})" for one in result["members"])
    crossed, plain = (result["scores"][place]["accuracy"] for place in ("dev_crossed", "dev"))
    return MIXED.format(
        n=len(result["among"]), rows="; ".join(rows), members=named, crossed=crossed, plain=plain,
        gain=claims.mixture_line(by_row), earlier=judged_before(result),
    )  # fmt: skip


def judged_before(result: Result) -> str:
    """Says which mixtures the sealed part has judged before: the figure is then no first look."""
    said = [
        f"among {one['among']} runs, accuracy {one['accuracy']:.4f} ({one['date']}, commit "
        f"{str(one['commit'])[:9]})"
        for one in result.get("earlier", [])
    ]
    return f" The sealed part had judged before it a mixture chosen {'; '.join(said)}." if said else ""


MIXED = """Members, weights and temperature are chosen on dev, greedily (Caruana et al. 2004), among the {n}
runs there are, of {rows}. Chosen: {members}.

On dev the mixture has accuracy {plain:.4f} where its members were chosen, and {crossed:.4f} where each
half of dev is answered by members that the other half chose. {gain}{earlier}"""


def loads(by_row: Results) -> str:
    """Says how busy the machine was."""
    heard = [one["stamp"]["load"] for of_row in by_row.values() for one in of_row]
    highest = max((value for pair in heard for value in pair if value is not None), default=None)
    if highest is None:
        return "The load of the machine is unknown."
    cores = max(one["stamp"]["cores"] or 1 for of_row in by_row.values() for one in of_row)
    if highest > cores + 0.5:
        return (
            f"Other programs ran beside some of it (load up to {highest:.1f} on {cores} cores): seconds "
            "there are too long; CPU seconds are those of the run alone."
        )
    return f"Load at most {highest:.1f} on {cores} cores."


def stamps(by_row: Results) -> str:
    every = [one["stamp"] for of_row in by_row.values() for one in of_row]
    dates = sorted(one["date"] for one in every)
    commits = sorted({one["commit"][:9] for one in every})
    versions = {
        f"{name} {one['versions'][name]}" for one in every for name in ("torch", "scikit-learn", "sentitok")
    }
    machines = sorted({f"{one['machine']}, {one['cores']} cores" for one in every})
    return (
        f"The tables of rows are from {len(every)} files of {dates[0]} to {dates[-1]}, commit "
        f"{', '.join(commits)}: {'; '.join(machines)}; {', '.join(sorted(versions))}; one thread a run. "
        "Other sections name their own date and commit. Files of different commits may be of different "
        "processors, which round differently: there the same seed gives another model. "
        f"{loads(by_row)}"
    )


def tuning_text() -> str:
    """Says how rates were chosen, and which rows took another than their architecture's."""
    if not TUNING.is_file():
        return "None of them was tuned."
    rows = json.loads(TUNING.read_text("utf-8"))["rows"]
    other = [f"`{name}` {one['lr']:g}" for name, one in rows.items() if one["factor"] != 1]
    took = f"{len(other)} of {len(rows)} took another: {', '.join(other)}" if other else "none took another"
    missing = [f"`{row.name}`" for row in BY_STEPS if row.name not in rows]
    left = f" Not yet: {', '.join(missing)}." if missing else ""
    return (
        "The rate of every row that is\ntrained by steps, defaults too, is chosen on dev by one budget "
        f"(`benches/models/tune.py`): half, once\nand twice its architecture's; {took}.{left}"
    )


HEAD = """# Results

Written by `{command} --pages`. No number of ours is typed by hand.
{stamps}

Every set has three parts. Models learn from **train**. **dev** makes every choice: steps, temperature,
members of mixtures. The **sealed** part judges: a finished model is scored on it, and no choice is made on
it, but for the older defaults below; where a row had been scored on it before, that is listed. On the Kaggle
movie-review phrases the sealed part is a fifth of the sentences, split by SentenceId, stratified on the
label of each sentence's longest phrase, seed 42; dev is a tenth of the other sentences: {parts}.
Rows called `{again}` are recipes whose steps and temperature dev chose, trained once more on both.

The architectures' defaults are older than this division: they were chosen on what is now the sealed
part, so the sealed part flatters them a little still. Rows are trained with these defaults; each
variant differs from its default in the one choice that it is named after. {tuning}
Kaggle's test (labels rebuilt from the SST dev and test trees, for scoring alone), SST-5, SST-2 and MR
are reported, never a gate, and chose nothing here. "Unseen" leaves out test phrases that are training
phrases without case and spacing.

Cells are accuracy / macro-F1, ± one standard deviation over seeds. Intervals of 95 % join seeds and
sentences (bootstrap over both). Five seeds where a run takes under a minute, three elsewhere, one where
nothing is drawn."""

AGAIN_TEXT = """What a clean dev part costs: its rows are missing from training until all is chosen.
Rows `{again}` have them back; the differences on the sealed part are among the claims below."""
OTHER = """Dev is a tenth of the training rows; the sealed part is the set's own test part. Yelp and MR have
none: each of ten folds is sealed once. `characters`: n-grams of 3 to 5 characters beside those of words.
Published: NB-SVM 0.794 on MR and 0.912 on IMDB (Wang and Manning 2012; there 25,000 reviews to learn
from, in this file 20,000, of which dev has a tenth)."""
MR = """MR is run once, with the recipe that has the highest mean accuracy on dev of {sets}: {chosen}.
Earlier versions looked at MR's folds when `nb` was defined and when characters were added to it, so its
figure is reported alone."""
CLAIMS = """Differences of accuracy in points on the sealed part: same data, same training, one choice
changed; 95 % intervals over seeds and sentences. `seed` is the larger standard deviation between seeds
of the two rows, in points: a claim holds only where the interval leaves out zero by more than that. The
reports' differences are from their own data. Nystrom attention has {landmarks} landmarks here: for a
phrase with no more tokens than that, as most have, it is softmax attention."""


def page(by_row: Results, chosen: str | None, beside: Others) -> str:
    """Returns docs/results.md."""
    every = all_judged(by_row, beside)
    data = next(
        (r[0]["data"] for (name, _), r in by_row.items() if name == "kaggle" and "data" in r[0]), None
    )
    parts = "not measured"
    if data is not None:
        parts = ", ".join(f"{data[part]['rows']:,} phrases {part}" for part in ("train", "dev", "sealed"))
    head = HEAD.format(
        command=COMMAND, stamps=stamps(by_row), parts=parts, again=AGAIN.strip(", "), tuning=tuning_text()
    )
    sets = ", ".join(TITLES[name].split(",")[0] for name in CHOOSES_FOR_MR)
    return "\n\n".join(
        [
            head,
            "## Bars",
            bars_page.part(every),
            "## Kaggle movie-review phrases",
            scores_table(by_row),
            AGAIN_TEXT.format(again=AGAIN.strip(", ")),
            "### The mixture",
            mixture_part(by_row),
            "## Cost",
            "Of one run on train alone, the quickest seed; load is that before and after it.",
            cost_table(by_row),
            "## Speed of training",
            speed_part(beside.get("trainer-speed")),
            "## Other sets",
            OTHER,
            other_table(by_row),
            MR.format(sets=sets, chosen=f"`{chosen}`" if chosen else "not all of them are measured yet"),
            "## Which claims hold",
            CLAIMS.format(landmarks=LANDMARKS),
            claims.claims(by_row),
            "## Before backbone, head and task were taken apart",
            before_page.part(),
            "## Distillation",
            distilled_page.part(),
            "## Translation",
            translations.part(),
            "## Language models",
            language_page.part(),
            "## Classifiers not measured",
            "Rows of classifiers without a result that counts, and how long they are planned to take. What "
            "of language models is not measured is named in their sections.",
            unmeasured_table(by_row),
        ]
    ) + "\n"  # fmt: skip


def short(of_row: list[Result], place: str) -> str:
    if not of_row:
        return "not measured"
    if place not in of_row[0]["scores"]:
        return ""
    return f"{mean(of_row, place, 'accuracy'):.3f} / {mean(of_row, place, 'macro_f1'):.3f}"


# Rows of the guide's table.
SHOWN = (
    "tfidf",
    "tfidf, characters",
    "nb",
    "bow",
    "cnn",
    "rnn",
    "gru",
    "lstm",
    "encoder",
    "bert",
    "gpt",
    "mamba",
)


def guide_table(by_row: Results, beside: Others) -> str:
    """Returns the guide's table, and the sentences with numbers beside it."""
    lines = ["| | sealed | Kaggle | CPU seconds |", "|---|---:|---:|---:|"]
    for name in (*SHOWN, MIXTURE):
        of_row = by_row.get(("kaggle", name), [])
        seconds = f"{min(float(one['cost']['cpu_seconds']) for one in of_row):.0f}" if of_row else ""
        shown = f"`{name}`" if name in SHOWN else f"{name} chosen on dev"
        lines.append(f"| {shown} | {short(of_row, 'sealed')} | {short(of_row, 'kaggle')} | {seconds} |")
    judged = bars_page.count(all_judged(by_row, beside))
    lines += ["", f"Targets that the project set itself ([results.md](results.md)): {judged}"]
    return "\n".join(lines)


def between(text: str, table: str) -> str:
    """Returns the guide with another table between its marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{GUIDE}: no marks {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def write(by_row: Results, chosen: str | None, beside: Others) -> list[Path]:
    """Writes both files; returns their paths."""
    if not by_row:
        raise SystemExit(f"nothing that counts was run yet; type {COMMAND}")
    PAGE.write_text(page(by_row, chosen, beside), encoding="utf-8")
    GUIDE.write_text(between(GUIDE.read_text("utf-8"), guide_table(by_row, beside)), encoding="utf-8")
    return [PAGE, GUIDE]
