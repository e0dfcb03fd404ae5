"""The part of docs/results.md about language models, from their result files alone.

Not for measuring: each section names the command that does, which is all it says where there is no result.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lengths
import numpy as np
import pretrained_page
from bars import GENERATION, GPU, GPU_TOKENS, PLAIN, PRETRAINING, distinct, times, times_compiled
from judged import asks, judged_of
from markdown import MET, MISSED, from_what, missing, plain, table
from optimizers import CONTEXT
from result import RESULTS, read
from scipy.stats import t

from sentimodels.runs.language import PRESETS

Result = dict[str, Any]
NEEDS = "minutes; needs transformers"
FIRST = "after the same without --test: an hour of one core"
EACH_SEED = "after the same without --test: half an hour of one core for each of three seeds"


def part(folder: Path = RESULTS) -> str:
    """Returns the sections, each with a heading of its own."""
    sections: list[tuple[str, str, Callable[[Result], str], str, str]] = [
        ("Speed of pre-training", "training_speed", training_speed, "pretrain.py --write", NEEDS),
        ("Speed of pre-training without AVX-512", "training_speed-avx2", training_speed,
         "pretrain.py --write", f"on a processor with AVX2 alone: {NEEDS}"),
        ("Speed of pre-training on a GPU", "gpu_speed", gpu_speed, "gpu.py --write", "minutes of one GPU"),
        ("Optimizer settings of pre-training", "optimizers", optimizers, "optimizers.py --test",
         "after the same without --test: an hour of one core"),
        ("Speed of generation", "generation", generation, "generate.py --write", NEEDS),
        ("Style transfer", "style", style, "style.py --test", FIRST),
        ("Alignment", "alignment", alignment, "align.py --test", EACH_SEED),
    ]  # fmt: skip
    texts = []
    for title, name, section, script, about in sections:
        path = folder / f"{name}.json"
        made = section(read(path)) if path.is_file() else missing(f"python benches/models/{script}", about)
        texts.append((title, made))
    texts.insert(5, ("Time and memory against the length of a text", growth(folder / "growth.jsonl")))
    texts.append(("Pre-training, then fine-tuning", pretrained_page.part(folder)))
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in texts)


def training_speed(result: Result) -> str:
    texts = []
    for precision, one in result["precisions"].items():
        sides = one["sides"]
        rows = []
        for name, side in sides.items():
            by = times(result, name, precision)
            bar = PRETRAINING.get(name)
            word = "" if bar is None else f"at least {bar:g}: {MET if by >= bar else MISSED}"
            shown = [f"{side['parameters']:,}", f"{side['tokens_per_second']:,.0f}", f"{by:.2f}"]
            rows.append([name, *shown, word])
        ours = sides["ours"]["tokens_per_second"]
        rows.append(["products and attention of ours, alone", "", f"{one['limit']:,.0f}",
                     f"{ours / one['limit']:.2f}", ""])  # fmt: skip
        made = table([precision, "parameters", "tokens/s", "ours, times", "bar"], rows)
        if (faster := times_compiled(result, precision)) is not None:
            least = PRETRAINING[PLAIN]
            made += (
                f"\n\nOurs compiled, over the faster of plain torch compiled and not: {faster:.2f} times; "
                f"at least {least:g}: {MET if faster >= least else MISSED}."
            )
        texts.append(made)
    return SPEED.format(tables="\n\n".join(texts), threads=result["threads"], made_by=from_what(result))


SPEED = """Models 256 wide, of 8 heads and 4 layers, on rows of 256 tokens, trained by turns, each in a
process of its own:

{tables}

The last line of each is a step of our model in which all but its matrix products and its attention, each
timed alone, takes no time. "Ours, times" is the speed of ours, not compiled, over that of the line.
Products and attention are the same work for ours and for plain torch: the more of a step they are, the less
is left to gain.

{threads} thread(s). {made_by}"""


def gpu_speed(result: Result) -> str:
    reached = result["tokens_per_second"]
    word = "-" if GPU not in result["device"] else MET if reached >= GPU_TOKENS else MISSED
    head = [
        "one GPU, bfloat16, compiled", "parameters", "context", "rows of a step", "memory", "tokens/s", "MFU",
        f"at least {GPU_TOKENS:,} on one {GPU}",
    ]  # fmt: skip
    share = f"{100 * result['mfu']:.1f} %" if "mfu" in result else "-"
    memory = result["peak_memory_bytes"]
    row = [
        result["device"], f"{result['parameters']:,}", f"{result['context']:,}", str(result["batch"]),
        "-" if memory is None else f"{memory / 1e9:.1f} GB", f"{reached:,.0f}", share,
    ]  # fmt: skip
    said = f" MFU is {result['formula']}, of a peak of {result['peak']:.3g}." if "mfu" in result else ""
    return f"{table(head, [[*row, word]])}\n\n{from_what(result)}{said}"


def generation(result: Result) -> str:
    rows = []
    for name, one in result["cases"].items():
        cells = [f"{one['new_tokens']}", f"{one['tokens_per_second']:,.0f}"]
        for score, bar in GENERATION.items():
            cells.append(f"{one[score]:.2f}, {MET if one[score] >= bar else MISSED}")
        rows.append([name, *cells, f"{one['threads']}"])
    head = [
        "model", "new tokens", "tokens/s",
        f"times without the cache (at least {GENERATION['with_cache']:g})",
        f"times transformers (at least {GENERATION['against_transformers']:g})", "threads",
    ]  # fmt: skip
    said = " ".join(dict.fromkeys(from_what(one) for one in result["cases"].values()))
    return f"Greedy; all sides gave the same tokens.\n\n{table(head, rows)}\n\n{said}"


def growth(path: Path) -> str:
    points = lengths.there(path)
    if not points:
        return missing(lengths.COMMAND, "minutes of one core")
    kinds = [kind for kind in lengths.KINDS if any(name == kind for name, _ in points)]
    measured = sorted({length for _, length in points})
    rows = []
    for length in measured:
        at_length = [points.get((kind, length)) for kind in kinds]
        rows.append([f"{length:,}", *("-" if one is None else cell(one) for one in at_length)])
    crossings = []
    for kind in kinds:
        base = lengths.CAUSAL if kind.endswith(", causal") else lengths.TWO_WAY
        if kind == base:
            continue
        against = [(base, "seconds"), (base, "bytes"), (lengths.PLAIN, "bytes")]
        crossings.append(
            [kind, *(lengths.crossing(points, kind, other, field) for other, field in against)]
            if kind != lengths.PLAIN and base == lengths.TWO_WAY
            else [kind, *(lengths.crossing(points, kind, base, field) for _, field in against[:2]), "-"]
        )
    parameters = ", ".join(
        f"{kind} {max(one['parameters'] for (name, _), one in points.items() if name == kind):,}"
        for kind in kinds
    )
    every = list(points.values())
    dates = sorted(one["date"] for one in every)
    commits = ", ".join(sorted({one["commit"][:9] for one in every}))
    loads = [value for one in every for value in one["load"] if value is not None]
    return GROWTH.format(
        table=table(["tokens", *kinds], rows),
        crossings=table(
            ["", "quicker than softmax", "less memory than softmax", f"less than {lengths.PLAIN}"], crossings
        ),
        parameters=parameters, first=dates[0], last=dates[-1], commits=commits, command=lengths.COMMAND,
        tries=lengths.MOST_TRIES,
        torch=", ".join(sorted({one["torch"] for one in every})),
        load=f"{max(loads):.1f}" if loads else "unknown",
    )  # fmt: skip


def optimizers(result: Result) -> str:
    config, sides = result["config"], result["sides"]
    first = sides[next(iter(sides))]
    rows = []
    for name, side in sides.items():
        tried = ", ".join(f"{one['rate']:g}: {one['bits_per_byte']:.3f}" for one in side["tried"])
        gained = "" if side is first else change(first["test"], side["test"])
        rows.append([name, tried, f"{side['rate']:g}", *(over_seeds(side[key]) for key in ("dev", "test")),
                     gained, f"{np.mean(side['cpu_seconds']):.0f}"])  # fmt: skip
    head = ["", "rates, first seed on dev", "rate", "dev", "test", "less the first row's", "CPU seconds"]
    read, judge = config["reviews"]
    tokens = config["steps"] * config["rows"] * CONTEXT
    share = 100 * tokens / PRESETS["nano"][2]
    return (
        f"A `gpt` of preset nano reads {tokens:,} tokens of {read:,} reviews of IMDB in {config['steps']} "
        f"steps, {share:.0f} % of what the preset reads. Bits per byte, means and deviations over "
        f"{len(first['test'])} seeds: on dev, the validation part, which chose each row's peak rate, and on "
        f"{judge} reviews of the test part. AdamW is `senti pretrain` as it is; the first row has the "
        "settings of a course project, TinyLLM ([senti-lm.md](senti-lm.md#sizes)). Differences with 95 % "
        "intervals over seeds (Student's t):\n\n"
        f"{table(head, rows, left=2)}\n\n"
        f"{from_what(result)}"
    )


def over_seeds(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}"


def cell(one: Result) -> str:
    used = "" if one["bytes"] is None else f", {one['bytes'] / 1e6:,.0f} MB"
    return f"{one['seconds']:.3f} s{used}"


GROWTH = """A forward and backward pass over one text, and the peak of memory above what was in use before:

{table}

Softmax is torch's kernel, which keeps no matrix of all pairs of tokens; written out, it keeps one. From which
length on a kind takes less than softmax that reads in the same direction, between two lengths that were
measured:

{crossings}

Parameters: {parameters}. CPU seconds of one thread, of the quickest of up to {tries} tries, {first} to
{last}, commit {commits}, torch {torch}, load up to {load}: `{command}`; `senti plot --kind growth` draws
the file."""


def style(result: Result) -> str:
    test = result["test"]
    rows = []
    for name in ("bleu", "perplexity", "bits_per_byte", "distinct_1", "distinct_2", "copied"):
        cells = [spread(test[model][name]) for model in ("base", "tuned")]
        cells.append(change(*(test[model][name]["values"] for model in ("base", "tuned"))))
        rests = test["base"]["rests"].get(name)
        rows.append([name.replace("_", " "), *cells, "" if rests is None else spread(rests)])
    better, of = test["better"]["by_seed"], test["better"]["of"]
    dates = ", ".join(f"{one['date']}, commit {one['commit'][:9]}" for one in result.get("earlier", []))
    judged = f" These sonnets had judged before, models of one seed ({dates})." if dates else ""
    return (
        f"A `gpt` trained on plays goes on with {of} sonnets after their first {result['config']['prompt']} "
        "tokens, before and after it has read other sonnets; means and deviations over "
        f"{len(better)} seeds, each of which trains both models, and what was changed with its 95 % interval "
        "over seeds (Student's t):\n\n"
        f"{table(['', 'before', 'after', 'after less before', 'the sonnets themselves'], rows)}\n\n"
        f"BLEU was higher after for {', '.join(map(str, better))} of {of} sonnets, by seed. sacrebleu: "
        f"`{test['base']['signature']}`.{judged} {from_what(result)}"
    )


def change(before: list[float], after: list[float]) -> str:
    """Returns the mean of differences, seed by seed, with its interval."""
    gained = np.subtract(after, before)
    mean, error = gained.mean(), gained.std(ddof=1) / len(gained) ** 0.5
    half = t.ppf(0.975, len(gained) - 1) * error
    return f"{mean:+.3f} ({mean - half:+.3f} to {mean + half:+.3f})"


def spread(value: Any) -> str:
    return f"{value['mean']:.3f} ± {value['deviation']:.3f}" if isinstance(value, dict) else f"{value:.3f}"


# Rows of the table of alignment: the name, and the cell of one seed.
OF_SEED: dict[str, Callable[[Result], str]] = {
    "mean reward before, after": lambda one: both(one, "reward_mean"),
    "median reward before, after": lambda one: both(one, "reward_median"),
    "gain, deviations of the start": lambda one: f"{one['test']['gain_in_std'] or 0.0:.3f}",
    "KL, nats": lambda one: f"{one['test']['after']['kl']:.3f}",
    "distinct-1 before, after": lambda one: both(one, "distinct_1"),
    "distinct-2 before, after": lambda one: both(one, "distinct_2"),
    "share of distinct-2": lambda one: f"{distinct(one):.3f}",
    "better answers": lambda one: f"{one['test']['better']} of {one['test']['openings']}",
    "gain of mean reward on dev": lambda one: f"{one['dev']['gain']:.3f}",
    "CPU minutes": lambda one: f"{sum(one['cpu_seconds'].values()) / 60:.0f}",
}


def alignment(result: Result) -> str:
    seeds, gain = result["seeds"], result["gain"]
    rows = [[name, *(of(one) for one in seeds)] for name, of in OF_SEED.items()]
    bars = "; ".join(f"{asks(one.bar)}: {one.word}" for one in judged_of("alignment", result))
    before = "; ".join(
        f"{', '.join(f'{won:.3f}' for won in one['gain'])} ({one['date']}, commit {one['commit'][:9]})"
        for one in result["earlier"]
    )
    columns = ["", *(f"seed {one['seed']}" for one in seeds)]
    said = f" The test openings had judged before: mean reward up by {before}." if before else ""
    return (
        "PPO on openings of IMDB test reviews. A seed draws the weights of the base, the order of its text "
        "and all that alignment draws:\n\n"
        f"{table(columns, rows)}\n\n"
        f"Mean reward up by {gain['value']:.3f} ({gain['low']:.3f} to {gain['high']:.3f}; 95 %, over seeds "
        f"and openings). Openings of dev chose the settings.{said} Bars, of the mean over seeds: {bars}. "
        f"{from_what(result)}\n\n"
        f"The first {len(result['samples'])} openings that judge, with the first seed's answers before and "
        f"after:\n\n{sampled(result['samples'])}"
    )


def both(one: Result, score: str) -> str:
    return ", ".join(f"{one['test'][when][score]:.3f}" for when in ("before", "after"))


def sampled(samples: list[Result]) -> str:
    """Returns a table of openings and answers, as they were drawn, and what they are worth."""
    rows = [
        [plain(one[key]) for key in ("opening", "before", "after")]
        + [f"{one[key]:.2f}" for key in ("reward_before", "reward_after", "kl")]
        for one in samples
    ]
    return table(["opening", "before", "after", "reward before", "after", "nats"], rows, left=3)
