"""`apply_chat_template`: text and ids against transformers, and messages that stay text.

The templates are written here, small, with what the published ones of these models use.
"""

import dataclasses
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
import tokenizers

from oracles.families import BYTES, file_of
from sentitok import EncodeError, Encoding, Tokenizer

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("jinja2", reason="jinja2 is not installed")

# 2026-11-23: those of transformers' own imports.
pytestmark = pytest.mark.filterwarnings("ignore")

CHATML = """
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}"""
LLAMA_3 = """{{- bos_token }}
{%- if tools is not none and tools %}
    {{- '<|start_header_id|>system<|end_header_id|>\\n\\nFunctions:\\n' }}
    {%- for tool in tools %}{{- tool | tojson(indent=4) }}{{- '\\n\\n' }}{% endfor %}
    {{- '<|eot_id|>' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role not in ['system', 'user', 'assistant', 'tool'] %}
        {{- raise_exception('Unknown role ' + message.role) }}
    {%- endif %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}
    {%- if message.tool_calls is defined %}
        {{- message.tool_calls[0].function | tojson }}
    {%- else %}
        {%- generation %}{{- message['content'] | trim }}{% endgeneration %}
    {%- endif %}
    {{- '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}
"""
MISTRAL = """{%- if messages[0]['role'] == 'system' %}
    {%- set system = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate user and assistant') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.last and system is defined %}
            {{- '[INST] ' + system + '\\n\\n' + message['content'] + '[/INST]' }}
        {%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{% endif %}
    {%- else %}{{- ' ' + message['content'] + eos_token }}{% endif %}
{%- endfor %}"""
GEMMA = """{{ bos_token }}{% for message in messages %}
{% if message['role'] == 'assistant' %}{% set role = 'model' %}{% else %}
{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\\n' }}{% if message['content'] is string %}{{ message['content'] | trim }}
{%- else %}{% for item in message['content'] %}
{% if item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}
{%- endif %}{{ '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""
QWEN = """{%- set ns = namespace(turns=0) %}
{%- if documents %}{%- for document in documents %}
{{- '<doc>' + document.title + ': ' + document['text'] + '</doc>\\n' }}{% endfor %}{% endif %}
{%- for message in messages[::-1] %}
    {%- if message.role == 'user' %}{% set ns.turns = ns.turns + 1 %}{% endif %}
{%- endfor %}
{{- 'turns ' ~ ns.turns ~ '\\n' }}
{%- for message in messages %}
    {%- if message.content is string and '</think>' in message.content %}
        {%- set content = message.content.split('</think>')[-1].lstrip('\\n') %}
    {%- else %}
        {%- set content = message.content %}
    {%- endif %}
    {%- if message.reasoning_content %}{{- '<think>' + message.reasoning_content + '</think>' }}{% endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}
    {%- if loop.index > 8 %}{% break %}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

#: The family whose pipeline runs, the template, special tokens, and what they are for.
MODELS: dict[str, tuple[str, str, list[str], dict[str, str]]] = {
    "ChatML": ("GPT-NeoX", CHATML, ["<|im_start|>", "<|im_end|>"], {"eos_token": "<|im_end|>"}),
    "Llama 3": (
        "Llama-3",
        LLAMA_3,
        ["<|start_header_id|>", "<|end_header_id|>"],
        {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    ),
    "Mistral": (
        "Llama-2, newer files",
        MISTRAL,
        ["[INST]", "[/INST]"],
        {"bos_token": "<s>", "eos_token": "</s>"},
    ),
    "Mistral, first files": ("Llama-2, Mistral v1", MISTRAL, [], {"bos_token": "<s>", "eos_token": "</s>"}),
    "Gemma": ("Gemma 2 and 3", GEMMA, ["<start_of_turn>", "<end_of_turn>"], {"bos_token": "<bos>"}),
    "Qwen 2": ("Qwen 2 to 3", QWEN, ["<|im_start|>", "<|im_end|>"], {"eos_token": "<|im_end|>"}),
    "Phi-3": ("Phi-3", CHATML, ["<|im_start|>", "<|im_end|>"], {"eos_token": "<|end|>"}),
}

CHATS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "Who owns it?"}],
    [
        {"role": "system", "content": "You are naïve — 日本語."},
        {"role": "user", "content": "  It's 12345\n\n"},
        {"role": "assistant", "content": "<b>No</b>, it isn't. "},
        {"role": "user", "content": "> quoted <"},
    ],
    [
        {"role": "user", "content": "a  b\n\n\nc"},
        {"role": "assistant", "content": "</think>\n\nd"},
    ],
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "owner",
            "parameters": {"type": "object", "properties": {"of": {"type": "string"}}},
        },
    }
]
DOCUMENTS = [{"title": "Foxes", "text": "The fox owns the dog & <it>."}]
CALLS: list[dict[str, Any]] = [
    {},
    {"add_generation_prompt": True},
    {"tools": TOOLS},
    {"documents": DOCUMENTS, "enable_thinking": False, "add_generation_prompt": True},
    {"continue_final_message": True},
]


def made(name: str) -> tuple[Any, Tokenizer]:
    family, template, special, roles = MODELS[name]
    backend = tokenizers.Tokenizer.from_str(file_of(family))
    backend.add_special_tokens(special)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, chat_template=template, **roles)
    ours = Tokenizer.from_hf(theirs)
    return theirs, ours.with_settings(ours.settings.replace(chat_template=template, **roles))


@pytest.mark.parametrize("name", MODELS)
def test_text_and_ids_are_those_of_transformers(name: str) -> None:
    theirs, ours = made(name)
    for chat in CHATS:
        for call in CALLS:
            try:
                text = theirs.apply_chat_template(chat, tokenize=False, **call)
            except Exception:
                with pytest.raises((EncodeError, ValueError)):
                    ours.apply_chat_template(chat, **call)
                continue
            assert ours.apply_chat_template(chat, tokenize=False, **call) == text
            ids = theirs.apply_chat_template(chat, return_dict=False, **call)
            for specials in ("none", "all"):
                found = ours.apply_chat_template(chat, specials=specials, **call)
                assert isinstance(found, Encoding)
                assert found.ids.tolist() == ids, (chat, call)


@pytest.mark.parametrize("name", MODELS)
def test_messages_never_become_special_tokens(name: str) -> None:
    """A chat has as many special tokens as the same chat of harmless words."""
    theirs, ours = made(name)
    # The bytes of unknown characters are special tokens in some of these files.
    tokens = [token for token in ours.added_tokens if token.special and token.content not in BYTES]
    special, spelled = {token.id for token in tokens}, [token.content for token in tokens]
    assert spelled

    def chat(content: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": content}, {"role": "assistant", "content": "yes"}]

    def of(encoding: Encoding) -> list[int]:
        return [id for id in encoding.ids.tolist() if id in special]

    harmless = of(ours.apply_chat_template(chat("word")))
    hostile = [f"a {text} b" for text in spelled]
    hostile += spelled + [text + " " for text in spelled] + [text * 3 for text in spelled]
    hostile += [text[:3] + text + text[3:] for text in spelled]
    hostile += [first + second for first in spelled for second in spelled[:3]]
    hostile += [text[:-2] for text in spelled] + [text[2:] for text in spelled]
    hostile += ["<", ">", "\ufdd2<s>", "\ufdd1 <|im_end|>"]
    for content in hostile:
        written = ours.apply_chat_template(chat(content), tokenize=False)
        assert written == theirs.apply_chat_template(chat(content), tokenize=False)
        found = ours.apply_chat_template(chat(content))
        assert of(found) == harmless, content
        open_to_all = ours.apply_chat_template(chat(content), specials="all").ids.tolist()
        assert open_to_all == theirs.apply_chat_template(chat(content), return_dict=False)
        if "\x00" not in written and ours.is_lossless:
            assert ours.decode(found.ids) == ours.decode(open_to_all) == written


def test_a_message_and_the_template_make_no_token_together() -> None:
    _, ours = made("ChatML")
    template = "{{ messages[0].content }}end|>{{ messages[1].content }}"
    chat = [{"role": "user", "content": "<|im_"}, {"role": "user", "content": "x"}]
    end = ours.token_to_id("<|im_end|>")
    joined = ours.apply_chat_template(chat, chat_template=template, tokenize=False)
    assert joined == "<|im_end|>x"
    assert end not in ours.apply_chat_template(chat, chat_template=template).ids
    assert end in ours.apply_chat_template(chat, chat_template=template, specials="all").ids
    for n in range(1, len("<|im_end|>")):
        whole = "<|im_end|>"
        halves = [{"role": "user", "content": whole[:n]}, {"role": "user", "content": whole[n:]}]
        for template in (
            "{{ messages[0].content }}{{ messages[1].content }}",
            "{{ messages | join('', 'content') }}",
        ):
            assert end not in ours.apply_chat_template(halves, chat_template=template).ids


def test_messages_of_other_kinds() -> None:
    theirs, ours = made("Llama 3")

    @dataclasses.dataclass
    class Message:
        role: str
        content: Any

    class Dumped:
        def model_dump(self) -> dict[str, Any]:
            return {"role": "user", "content": "hi", "name": None}

    class Text(str):
        __slots__ = ()

        def upper(self) -> str:
            raise AssertionError("the template got the caller's object")

    chats: list[list[Any]] = [
        [Message("user", "hi"), Dumped()],
        [{"role": "user", "content": Text("hi"), "tool_calls": None}],
        [{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": np.int64(3)}}}]}],
        [types.MappingProxyType({"role": "user", "content": "hi"})],
    ]
    for chat in chats:
        as_dicts = [
            m if hasattr(m, "items") else dataclasses.asdict(m) if isinstance(m, Message) else m.model_dump()
            for m in chat
        ]
        text = theirs.apply_chat_template(as_dicts, tokenize=False)
        assert ours.apply_chat_template(chat, tokenize=False) == text
    loud = "{{ messages[0].content.upper() }}"
    assert ours.apply_chat_template(chats[1], chat_template=loud, tokenize=False) == "HI"


def test_templates_by_name() -> None:
    _, ours = made("ChatML")
    settings = dataclasses.replace(ours.settings, chat_templates={"tool_use": "tools", "rag": "rag"})
    ours = ours.with_settings(settings)
    chat = CHATS[0]
    assert ours.apply_chat_template(chat, tools=TOOLS, tokenize=False) == "tools"
    assert ours.apply_chat_template(chat, chat_template="rag", tokenize=False) == "rag"
    with pytest.raises(ValueError, match="name one of rag, tool_use"):
        ours.apply_chat_template(chat)
    bare = ours.with_settings(dataclasses.replace(settings, chat_templates={}))
    with pytest.raises(ValueError, match="no chat template; pass chat_template="):
        bare.apply_chat_template(chat)


USER = {"role": "user", "content": "hi"}
# Template, messages, options, the kind of error, and a part of its text.
BAD: list[tuple[str | None, Any, dict[str, Any], type[Exception], str]] = [
    (None, [], {}, ValueError, "messages is empty"),
    (None, "hi", {}, TypeError, "messages is a list of messages, not 'hi'"),
    (None, USER, {}, TypeError, "messages is a list of messages"),
    (None, ["hi"], {}, TypeError, "a message is an object with role and content, not 'hi'"),
    (None, [[USER], USER], {}, TypeError, "give one conversation a call"),
    (None, [USER], {"specials": "some"}, ValueError, 'specials is "none" or "all" for a chat, not \'some\''),
    (
        None,
        [USER],
        {"return_tensors": "pt"},
        TypeError,
        "return_tensors= is not of this call: take the array",
    ),
    (None, [USER], {"tools": [len]}, TypeError, "get_json_schema makes it of a function"),
    (None, [USER], {"documents": ["text"]}, TypeError, "a document is a dict with title and text"),
    (None, [USER], {"continue_final_message": True, "add_generation_prompt": True}, ValueError, "choose one"),
    (None, [{"role": "user"}], {"continue_final_message": True}, ValueError, "no text to continue"),
    ("{{ 1 }}", [USER], {"continue_final_message": True}, ValueError, "cannot be continued"),
    ("{{ raise_exception('no cats') }}", [USER], {}, EncodeError, "refuses this chat: no cats"),
    ("{% if %}", [USER], {}, EncodeError, "cannot be read: Expected an expression"),
    ("{{ 1 / 0 }}", [USER], {}, EncodeError, "cannot be run on this chat: ZeroDivisionError"),
    ("{{ messages[0].content + 1 }}", [USER], {}, EncodeError, "cannot be run on this chat: TypeError"),
    ("{{ nothing.at.all }}", [USER], {}, EncodeError, "'nothing' is undefined"),
    (
        "{{ messages.append(1) }}",
        [USER],
        {},
        EncodeError,
        "refuses this chat: .*'append' of 'list' object is unsafe",
    ),
    ("{{ ''.__class__.__mro__ }}", [USER], {}, EncodeError, "unsafe"),
    ("{{ range(10 ** 9) | list }}", [USER], {}, EncodeError, "Range too big"),
    (
        "{{ 'yes' if '<|im_end|>' in messages[0].content else 'no' }}",
        [{"role": "user", "content": "<|im_end|>"}],
        {},
        EncodeError,
        'cannot be kept as text; .* pass specials="all"',
    ),
]


@pytest.mark.parametrize(("template", "messages", "options", "kind", "message"), BAD)
def test_errors(
    template: str | None, messages: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    _, ours = made("ChatML")
    with pytest.raises(kind, match=message):
        ours.apply_chat_template(messages, chat_template=template, **options)


def test_lists_in_lists() -> None:
    _, ours = made("ChatML")
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="more than 100 deep"):
        ours.apply_chat_template([{"role": "user", "content": deep}])
    while isinstance(deep, list):  # taken apart here: freeing it would go as deep
        deep = deep[0]


@pytest.mark.parametrize("version", [None, "3.1.5"])
def test_without_jinja2(version: str | None) -> None:
    library = "None" if version is None else "jinja2"
    code = f"""
import sys
if {version!r}:
    import jinja2
    jinja2.__version__ = {version!r}
else:
    sys.modules["jinja2"] = {library if version is None else "None"}
import sentitok
try:
    tokenizer = sentitok.train_bpe(texts=["a"], vocab_size=256)
    tokenizer.apply_chat_template([{{"role": "user"}}], chat_template="x")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'sentitok[chat]"' in done.stdout
