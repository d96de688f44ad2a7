"""Bodies of OpenAI requests for property tests: real shapes, odd ones, and mixtures."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]

words = st.text(max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words
values = st.recursive(
    scalars.filter(lambda v: v not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(words, values, max_size=3)
ids = st.sampled_from(
    ["call_0", "call_0", "", "call_abcdefghijklmnop", "call_qrstuvwxyzabcdef", "a b"]
)
arguments = st.one_of(
    objects.map(json.dumps),
    objects.map(lambda o: json.dumps(o, separators=(",", ":"), ensure_ascii=False)),
    objects.map(lambda o: json.dumps(o, indent=2)),
    words,
    st.just('{"a":1,"a":2}'),
    st.just('{"a":'),
)
urls = st.sampled_from(
    ["data:image/png;base64,QUJD", "data:image/png;base64,!", "https://x.example/a.png", ""]
)


def part_of(kind: str, **more: Any) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"type": st.just(kind), **more})


odd_parts = st.dictionaries(
    st.sampled_from(["type", "text", "image_url", "source", "refusal", "value", "name"]),
    values | st.sampled_from(["text", "image", "openai", "tool_use", "input_text"]), max_size=4,
)  # fmt: skip
chat_parts = st.one_of(
    part_of("text", text=words),
    part_of("refusal", refusal=words),
    part_of(
        "image_url", image_url=st.fixed_dictionaries({"url": urls}, optional={"detail": words})
    ),
    part_of("input_audio", input_audio=objects),
    odd_parts,
)
chat_contents = st.one_of(st.none(), words, st.lists(chat_parts, max_size=3), values)
functions = st.fixed_dictionaries({"name": words, "arguments": arguments})
chat_calls = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("function"), "function": functions},
        optional={"id": ids, "index": st.integers()},
    ),
    st.fixed_dictionaries({"id": ids, "type": st.just("custom"),
                           "custom": st.fixed_dictionaries({"name": words, "input": words})}),
    odd_parts,
)  # fmt: skip
chat_messages = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user"]), "content": chat_contents},
        optional={"name": words},
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant")},
        optional={
            "content": chat_contents, "tool_calls": st.lists(chat_calls, max_size=3) | values,
            "refusal": st.none() | words, "function_call": functions | st.none(),
            "reasoning_content": words, "reasoning": words, "annotations": st.just([]),
        },
    ),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": ids},
                          optional={"content": chat_contents, "name": words}),
    st.fixed_dictionaries({"role": st.just("function"), "name": words, "content": words}),
    odd_parts, values,
)  # fmt: skip
response_parts = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["input_text", "output_text"]), "text": words},
        optional={"annotations": st.just([]), "logprobs": st.just([])},
    ),
    part_of("input_image", image_url=urls, detail=words),
    part_of("input_file", file_id=words),
    part_of("refusal", refusal=words),
    odd_parts,
)
item_fields: dict[str, Any] = {"id": words, "status": st.just("completed")}
summaries = st.lists(part_of("summary_text", text=words) | odd_parts, max_size=3)
items = st.one_of(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", "developer"]),
         "content": words | st.lists(response_parts, max_size=3) | values},
        optional={"type": st.just("message"), **item_fields},
    ),
    st.fixed_dictionaries(
        {"type": st.just("function_call"), "name": words, "arguments": arguments},
        optional={"call_id": ids, **item_fields},
    ),
    st.fixed_dictionaries({"type": st.just("custom_tool_call"), "name": words, "input": words,
                           "call_id": ids}, optional=item_fields),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["function_call_output", "custom_tool_call_output"]),
         "call_id": ids},
        optional={"output": words | st.lists(response_parts, max_size=2), **item_fields},
    ),
    st.fixed_dictionaries(
        {"type": st.just("reasoning"), "summary": summaries},
        optional={"id": words, "encrypted_content": words | st.none(),
                  "content": st.none() | st.lists(part_of("reasoning_text", text=words))},
    ),
    st.fixed_dictionaries({"type": st.just("compaction"), "encrypted_content": words},
                          optional={"id": words}),
    st.fixed_dictionaries({"type": st.just("web_search_call"), "id": words, "action": objects}),
    st.fixed_dictionaries({"type": st.just("computer_call"), "call_id": ids, "action": objects}),
    st.fixed_dictionaries({"type": st.just("computer_call_output"), "call_id": ids,
                           "output": objects}),
    odd_parts, values,
)  # fmt: skip
chat_tools = st.one_of(
    part_of("function", function=st.fixed_dictionaries(
        {"name": words}, optional={"parameters": objects, "strict": st.booleans(),
                                   "description": st.none() | words})),
    part_of("custom", custom=st.fixed_dictionaries({"name": words})),
    objects,
)  # fmt: skip
response_tools = st.one_of(
    part_of("function", name=words, parameters=objects, strict=st.booleans()),
    part_of("custom", name=words),
    part_of("web_search"),
    objects,
)
chat_bodies = st.fixed_dictionaries(
    {"model": st.just("gpt-4o"), "messages": st.lists(chat_messages, max_size=6) | values},
    optional={"tools": st.lists(chat_tools, max_size=3) | values, "temperature": values,
              "tool_choice": st.just("auto") | objects, "parallel_tool_calls": st.booleans(),
              "max_tokens": st.integers(1, 9), "stream": st.booleans()},
)  # fmt: skip
response_bodies = st.fixed_dictionaries(
    {"model": st.just("gpt-5"), "input": st.lists(items, max_size=6) | words | values},
    optional={"instructions": words | st.none() | values, "store": st.booleans(),
              "tools": st.lists(response_tools, max_size=3) | values, "tool_choice": objects},
)  # fmt: skip
