"""What the page's scripts work out, without a browser: each function called by node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import sentitok

PAGE = Path(sentitok.__file__).parent / "web" / "page"


_PRINT = "const print = (value) => console.log(JSON.stringify(value));\n"


def node() -> str:
    """node itself, or the one that Playwright brings."""
    found = shutil.which("node")
    if found is None:
        driver = pytest.importorskip("playwright._impl._driver", reason="neither node nor playwright is here")
        found = str(driver.compute_driver_executable()[0])
    return found


def run(code: str, **given: Any) -> Any:
    """Runs a script that prints one JSON value; names of its modules and values are there."""
    modules = "".join(
        f"import * as {path.stem} from {json.dumps(path.as_uri())};\n"
        for path in sorted(PAGE.glob("*.mjs"))
        if path.stem not in ("main", "panel")  # these begin by asking
    )
    values = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
    done = subprocess.run(
        [node(), "--input-type=module", "-e", f"{modules}{values}{_PRINT}{code}"],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tokens_that_share_a_character_are_grouped() -> None:
    spans = [(0, 1), (1, 3), (1, 3), (3, 3), (3, 4), (3, 4), (4, 6), (6, 6), (6, 6)]
    tokens = [{"start": start, "end": end} for start, end in spans]
    found = run("print(tokens.groups(given).map((one) => one.tokens.length))", given=tokens)
    assert found == [1, 2, 1, 2, 1, 1, 1]


@pytest.mark.parametrize("text", ["naïve 👍🏽", "", "日本\nja"])
def test_groups_of_real_tokens_tile_the_text(tokenizer: sentitok.Tokenizer, text: str) -> None:
    spans = tokenizer.encode(text).offsets("chars", trim=False).tolist()
    tokens = [{"start": start, "end": end} for start, end in spans]
    code = "print(tokens.groups(given).map((one) => [one.start, one.end]))"
    found = run(code, given=tokens)
    assert "".join(text[start:end] for start, end in found) == text


def test_the_newest_question_is_answered_alone() -> None:
    code = """
    const latest = new asking.Latest();
    const after = (value, ms) => () => new Promise((done) => setTimeout(() => done(value), ms));
    const failing = () => new Promise((_, fail) => setTimeout(() => fail(new Error("late")), 20));
    const asked = [after("first", 60), failing, after("last", 5)];
    const answers = await Promise.all(asked.map((task) => latest.run(task)));
    const dropped = latest.run(after("dropped", 5));
    latest.cancel();
    let signal;
    const aborted = latest.run((given) => { signal = given; return after(1, 5)(); });
    latest.run(after(2, 1));
    print([...answers.map((one) => one ?? null), (await dropped) ?? null, signal.aborted]);
    """
    assert run(code) == [None, None, "last", None, True]


def test_a_failure_of_the_newest_question_is_told() -> None:
    code = """
    const latest = new asking.Latest();
    latest.run(async () => { throw new Error("wrong"); }).catch((error) => print(error.message));
    """
    assert run(code) == "wrong"


def test_questions_keep_their_pace() -> None:
    """The first at once; then at most one in 80 ms, and the last is never forgotten."""
    code = """
    let now = 0;
    const due = [];
    const calls = [];
    const later = (what, wait) => due.push([now + wait, what]);
    const call = asking.paced(() => calls.push(now), 80, () => now, later);
    for (const at of keys) {
      while (due.length && due[0][0] <= at) { const [time, what] = due.shift(); now = time; what(); }
      now = at;
      call();
    }
    for (const [time, what] of due) { now = time; what(); }
    print(calls);
    """
    assert run(code, keys=[0, 10, 20, 200, 290, 300]) == [0, 80, 200, 290, 370]
    assert run(code, keys=list(range(0, 400, 5))) == [0, 80, 160, 240, 320, 400]


@pytest.mark.parametrize(
    ("typed", "ids"),
    [
        ("", []),
        (" \n", []),
        ("7", [7]),
        ("[1, 2,\n3]", [1, 2, 3]),
        ("array([  33, 1970,   0])", None),
        ("([33 1970])", [33, 1970]),
        ("1.5", None),
        ("-1", None),
        ("a", None),
    ],
)
def test_ids_are_read_however_they_are_written(typed: str, ids: list[int] | None) -> None:
    assert run("print(decoding.numbers(typed))", typed=typed) == ids


BEGINNING = {
    "text": None, "view": "text", "effects": "", "method": "leave-one-out", "label": "", "tokens": "64",
    "temperature": "0.8", "top_p": "0.95", "seed": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"text": "a & b = #1 %", "view": "ids", "effects": "1", "method": "integrated-gradients"},
        {"text": "👍🏽 日本\n", "view": "none", "label": "a & <b>", "effects": "1"},
        {"text": " <b>", "view": "both", "tokens": "128", "temperature": "0", "top_p": ".5", "seed": "7"},
        {"tokens": "", "temperature": "", "top_p": ""},
    ],
)
def test_the_address_keeps_what_was_typed_and_chosen(chosen: dict[str, str]) -> None:
    code = "const w = state.write(given); print([w, state.read(w)])"
    fragment, found = run(code, given=BEGINNING | chosen)
    assert found == BEGINNING | chosen
    assert fragment.count("=") == len(chosen)
    assert not set(fragment) & set(' <>"')


def test_an_address_that_nobody_wrote_changes_nothing() -> None:
    assert run("print(state.write({...state.read(''), text: 'x'.repeat(5000)}))") == ""
    fragment = "#view=<script>&effects=2&method=guess&tokens=many&temperature=-1&top_p=0.1.2&seed=x&other=1"
    assert run("print(state.read(given))", given=fragment) == BEGINNING


def test_colours_go_from_red_to_green() -> None:
    code = "print([1, 2, 3, 5].map((n) => [...Array(n).keys()].map((i) => bars.shade(i, n))))"
    assert run(code) == [
        ["#1a9850"],
        ["#d73027", "#1a9850"],
        ["#d73027", "#fee08b", "#1a9850"],
        ["#d73027", "#fc8d59", "#fee08b", "#d9ef8b", "#1a9850"],
    ]
    six = run("print([...Array(6).keys()].map((i) => bars.shade(i, 6)))")
    assert len(set(six)) == 6
    assert all(len(one) == 7 for one in six)


def test_examples_suit_the_models() -> None:
    code = "print(kinds.map((kind) => examples.examples([kind])))"
    found = run(code, kinds=["tokenizer", "classifier", "ensemble", "language-model"])
    assert [len(one) for one in found] == [5] * 4
    assert found[1] == found[2]
    assert len({str(one) for one in found}) == 3


def test_what_is_said_of_tokens() -> None:
    code = "print(given.map(tokens.told))"
    one = {"id": 7, "text": "⋅film", "bytes": "2066", "start": 3, "end": 8, "special": False}
    word = {"id": None, "text": "film", "start": 3, "end": 4, "special": False}
    special = {"id": 1, "text": "[CLS]", "start": 0, "end": 0, "special": True}
    assert run(code, given=[one, word, special]) == [
        "“⋅film”, id 7, characters 3 to 8, bytes 20 66",
        "“film”, no id of its own, character 3",
        "“[CLS]”, id 1, special token",
    ]
    assert run("print([0.12345, -0.5, 0].map(tokens.signed))") == [
        "+0.123",
        "−0.500",
        "+0.000",
    ]


def test_written_text_shows_no_broken_characters() -> None:
    code = "print(given.map(([text, tokens]) => writing.readable(text, tokens)))"
    pieces = [
        [" a\n", [{"text": "⋅a↵"}]],
        ["\ufffd", [{"text": "\\xf0"}, {"text": "\\x9f"}]],
        ["\x1b", [{"text": "\\x1b"}]],
    ]
    assert run(code, given=pieces) == [" a\n", "\\xf0\\x9f", "\\x1b"]
    end = {"reason": "length", "n_tokens": 20, "ms": 40}
    assert run("print(writing.ending(given))", given=end) == "20 tokens, 500 a second: at the limit"
