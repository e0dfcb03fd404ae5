"""Chat templates of the kinds that models have, shortened: with tools, and with thoughts that are dropped.

None has `{% generation %}`. `MODELS` has what each needs: the family whose pipeline runs, the template,
special tokens, and what they are for.
"""

IM = ["<|im_start|>", "<|im_end|>"]
CHATML = r"""{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"""
QWEN_2_5 = r"""{%- if tools %}
    {{- '<|im_start|>system\nTools:' }}
    {%- for tool in tools %}{{- '\n' }}{{- tool | tojson }}{%- endfor %}
    {{- '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\n' }}{% endif %}
    {%- elif message.tool_calls %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}{{- '\n' + message.content }}{% endif %}
        {%- for tool_call in message.tool_calls %}
            {{- '\n<tool_call>\n{"name": "' + tool_call.function.name + '", "arguments": ' }}
            {{- tool_call.function.arguments | tojson }}{{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}"""
# Thoughts are written for the answers behind the last question alone.
QWEN_3 = r"""{%- set ns = namespace(last=0) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' %}
        {%- set thoughts = message.reasoning_content if message.reasoning_content is string else '' %}
        {%- if not thoughts and '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\n' }}
        {%- if loop.index0 > ns.last and (loop.last or thoughts) %}
            {{- '<think>\n' + thoughts.strip('\n') + '\n</think>\n\n' }}
        {%- endif %}
        {{- content }}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if content or not loop.first %}{{- '\n' }}{% endif %}
            {{- '<tool_call>\n{"name": "' + tool_call.function.name + '", "arguments": ' }}
            {{- tool_call.function.arguments | tojson }}{{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{% endif %}
{%- endif %}"""
GEMMA = r"""{{ bos_token }}{% for message in messages %}
{{- '<start_of_turn>' + ('model' if message.role == 'assistant' else message.role) + '\n' }}
{%- if message.content is string %}{{- message.content | trim }}{% else %}
{%- for part in message.content %}{{- part.text | trim if part.type == 'text' else '<image>' }}{% endfor %}
{%- endif %}{{- '<end_of_turn>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{- '<start_of_turn>model\n' }}{% endif %}"""
# What the system says is written into the last question, and nothing asks for an answer.
MISTRAL = r"""{%- if messages[0].role == 'system' %}
    {%- set system = messages[0].content %}{%- set messages = messages[1:] %}
{%- endif %}
{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {{- '[INST] ' + (system + '\n\n' if loop.last and system is defined else '') }}
        {{- message.content + '[/INST]' }}
    {%- elif message.role == 'tool' %}{{- '[TOOL_RESULTS] ' + message.content + '[/TOOL_RESULTS]' }}
    {%- elif message.tool_calls %}
        {{- '[TOOL_CALLS] [' }}
        {%- for call in message.tool_calls %}{{- call.function | tojson }}{% endfor %}{{- ']' + eos_token }}
    {%- else %}{{- ' ' + message.content | trim + eos_token }}{% endif %}
{%- endfor %}"""
# The end of a chat has a token, which is not written where an answer is asked for.
PHI_3 = r"""{% for message in messages %}
{{ '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}{% endfor %}
{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"""
# An answer begins with thoughts, which no later turn has; tool calls are special tokens.
DEEPSEEK = r"""{%- set ns = namespace(tool=false) %}{{- bos_token }}
{%- for message in messages %}
    {%- if message.role == 'user' %}{%- set ns.tool = false %}{{- '<|User|>' + message.content }}
    {%- elif message.role == 'tool' %}
        {%- set ns.tool = true %}{{- '<|tool_output|>' + message.content + '<|tool_output_end|>' }}
    {%- elif message.role != 'assistant' %}{{- message.content }}
    {%- elif message.tool_calls %}{{- '<|Assistant|>' }}
        {%- for call in message.tool_calls %}
            {{- '<|tool_call|>' + call.function.name + '\n```json\n' + call.function.arguments | tojson }}
            {{- '\n```<|tool_call_end|>' }}
        {%- endfor %}{{- '<|eos|>' }}
    {%- else %}{{- '' if ns.tool else '<|Assistant|>' }}{%- set ns.tool = false %}
        {{- message.content.split('</think>')[-1] + '<|eos|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt and not ns.tool %}{{- '<|Assistant|><think>\n' }}{% endif %}"""
PLAIN = r"""{%- for message in messages %}
    {{- {'user': 'User', 'assistant': 'Bot'}.get(message.role, 'Note') + ': ' + message.content + '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- 'Bot:' }}{% endif %}"""
NO_PROMPT = (
    r"""{%- for message in messages %}{{- message.role + ': ' + message.content + '\n' }}{% endfor %}"""
)
# The next message ends a turn.
NO_END = r"""{%- for message in messages %}{{- '<|' + message.role + '|>\n' + message.content }}{% endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>\n' }}{% endif %}"""
# An answer changes the text around it, so that no marks can be put there.
WITH_LENGTHS = r"""{%- for message in messages %}
    {{- '<|im_start|>' + message.role + ' ' ~ (message.content | length) ~ '\n' + message.content }}
    {{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant' }}{% endif %}"""
BACKWARDS = (
    r"""{%- for message in messages %}{{- message.role + ': ' + message.content[::-1] }}{% endfor %}"""
)

_DEEPSEEK = (
    "<|User|> <|Assistant|> <|eos|> <|tool_call|> <|tool_call_end|> <|tool_output|> <|tool_output_end|>"
)
_MISTRAL = ["[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"]

MODELS: dict[str, tuple[str, str, list[str], dict[str, str]]] = {
    "ChatML": ("GPT-NeoX", CHATML, IM, {}),
    "Qwen 2.5": ("Qwen 2 to 3", QWEN_2_5, IM, {}),
    "Qwen 3": ("Qwen 2 to 3", QWEN_3, IM, {}),
    "Gemma": ("Gemma 2 and 3", GEMMA, ["<start_of_turn>", "<end_of_turn>"], {"bos_token": "<bos>"}),
    "Mistral": ("Llama-2, newer files", MISTRAL, _MISTRAL, {"bos_token": "<s>", "eos_token": "</s>"}),
    "Phi-3": (
        "Phi-3", PHI_3, ["<|user|>", "<|assistant|>", "<|system|>", "<|end|>", "<|endoftext|>"],
        {"eos_token": "<|endoftext|>"},
    ),
    "DeepSeek": ("GPT-NeoX", DEEPSEEK, _DEEPSEEK.split(), {}),
    "plain": ("GPT-NeoX", PLAIN, [], {}),
    "no prompt": ("GPT-NeoX", NO_PROMPT, [], {}),
    "no end": ("GPT-NeoX", NO_END, ["<|user|>", "<|assistant|>", "<|system|>"], {}),
    "lengths": ("GPT-NeoX", WITH_LENGTHS, IM, {}),
    "backwards": ("GPT-NeoX", BACKWARDS, [], {}),
}  # fmt: skip


def user(text: str) -> dict[str, object]:
    """A question."""
    return {"role": "user", "content": text}


def assistant(text: object, **more: object) -> dict[str, object]:
    """An answer."""
    return {"role": "assistant", "content": text, **more}
