"""Habits of clients, one function each: what they send again, change, leave out.

`truth` names the conversation that a call belongs to.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .traffic import MARK, Recording, agent, helper, result, said, text, use, user

Json = dict[str, Any]
REMINDER = text("<system-reminder>rules</system-reminder>")


def grow(recording: Recording, truth: str, body: Callable[..., Json], history: list[Json],
         words: str, question: str | Json) -> None:  # fmt: skip
    history.append(recording.pair(truth, body(*history), words))
    history.append(user(question))


def same_answers_in_two_conversations(r: Recording) -> None:
    one, two = [user("task one")], [user("task two")]
    for _ in range(4):
        grow(r, "one", agent, one, "ok", "continue")
        grow(r, "two", agent, two, "ok", "continue")


def same_answers_without_tools(r: Recording) -> None:
    one, two = [user("hi")], [user("hello")]
    for _ in range(3):
        grow(r, "one", helper, one, "ok", "continue")
        grow(r, "two", helper, two, "ok", "continue")


def a_finished_conversation_and_new_ones_that_also_end_with_done(r: Recording) -> None:
    for name in ("one", "two", "three"):
        r.pair(name, agent(user(f"task {name}")), "Done.")
    for name in ("two", "one", "three"):
        r.pair(name, agent(user(f"task {name}"), said("Done."), user("thanks")), "Welcome.")


def helpers_with_examples_in_front_of_each_question(r: Recording) -> None:
    examples = [user("2+2"), said("maths"), user("a poem"), said("art")]
    for number in range(4):
        r.pair(f"help {number}", helper(*examples, user(f"question {number}")), "maths")


def helpers_that_begin_their_answer(r: Recording) -> None:
    for number in range(3):
        r.pair(f"help {number}", helper(user(f"topic {number}"), said("{")), "{")


def a_summariser_with_the_agents_tools(r: Recording) -> None:
    history = [user("go")]
    for number in range(3):
        grow(r, "agent", agent, history, f"answer {number}", f"next {number}")
    other = {"system": "Summarise conversations.", "model": "claude-haiku-4-5", "max_tokens": 9}
    r.pair("summary", agent(*history, user("Sum up."), **other), "All.")
    grow(r, "agent", agent, history, "more", "on")


def a_retry_with_a_block_put_in_the_middle_and_one_at_the_end(r: Recording) -> None:
    failed = {"status_code": 529}
    r.pair("agent", agent(user("a", "b")), **failed)
    r.pair("agent", agent(user("a", REMINDER, "b")), **failed)
    r.pair("agent", agent(user("a", REMINDER, "b", "c")), **failed)
    r.pair("agent", agent(user("c", "a", REMINDER, "b")), **failed)
    r.pair("agent", agent(user("c", "a", REMINDER, "b", "d")), "ok")


def a_conversation_that_becomes_one_summary(r: Recording) -> None:
    history = [user("go")]
    for number in range(3):
        grow(r, "agent", agent, history, f"answer {number}", f"next {number}")
    summed = user("Here is a summary of the conversation so far: much was done.")
    r.pair("agent", agent(summed), "I go on.")
    r.pair("agent", agent(summed, said("I go on."), user("good")), "Done.")


def one_call_without_tools_and_one_without_a_prompt(r: Recording) -> None:
    history = [user("go")]
    for change in ({}, {"tools": []}, {}, {"system": ""}, {"system": "", "tools": []}):
        history.append(r.pair("agent", agent(*history, **change), f"answer {len(history)}"))
        history.append(user(f"next {len(history)}"))


def another_role_and_model_for_the_same_work(r: Recording) -> None:
    rules = " Never touch production. Ask before you delete. Test what you write."
    history = [user("go")]
    for role, model in (("Plan.", "claude-opus-4-6"), ("Write the code.", "claude-haiku-4-5")):
        change = {"system": role + rules, "model": model}
        history.append(r.pair("agent", agent(*history, **change), f"I {role}"))
        history.append(user(f"next {len(history)}"))


def trimmed_answers_and_a_rewind(r: Recording) -> None:
    r.pair("agent", agent(user("a")), "b \n")
    r.pair("agent", agent(user("a"), said("b"), user("c")), "d ")
    r.pair("agent", agent(user("a"), said("b"), user("other")), "e ")


def messages_merged_and_taken_apart(r: Recording) -> None:
    r.pair("agent", agent(user("go")), "one")
    r.pair("agent", agent(user("go"), said("one"), user("x"), user("y")), "two")
    tail = [said("two"), user("z")]
    r.pair("agent", agent(user("go"), said("one"), user("x", "y"), *tail), "three")
    r.pair("agent", agent(user("go"), said("one"), user("x"), user("y"), *tail), "four")


def old_results_cleared_while_marks_move(r: Recording) -> None:
    history = [user(REMINDER, "go")]
    for number in range(6):
        sent = copy.deepcopy(history)
        for message in sent[:-3]:
            for block in message["content"]:
                if block["type"] == "tool_result":
                    block["content"] = "[cleared]"
        sent[-1]["content"][-1]["cache_control"] = MARK
        call = use(f"t{number}", path=f"é{number}", deep=[1.0, None, {"cache_control": MARK}])
        history.append(r.pair("agent", agent(*sent), f"step {number}", call))
        history.append(user(result(f"t{number}", [text("x" * 20)])))


HABITS = [
    same_answers_in_two_conversations,
    same_answers_without_tools,
    a_finished_conversation_and_new_ones_that_also_end_with_done,
    helpers_with_examples_in_front_of_each_question,
    helpers_that_begin_their_answer,
    a_summariser_with_the_agents_tools,
    a_retry_with_a_block_put_in_the_middle_and_one_at_the_end,
    a_conversation_that_becomes_one_summary,
    one_call_without_tools_and_one_without_a_prompt,
    another_role_and_model_for_the_same_work,
    trimmed_answers_and_a_rewind,
    messages_merged_and_taken_apart,
    old_results_cleared_while_marks_move,
]
