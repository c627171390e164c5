"""Retrieval by shared words, and an answer that is the passages themselves: small, and the knob matters."""

import re

PASSAGES = [
    "The Eiffel Tower was finished in 1889, for the exhibition.",
    "The company of Gustave Eiffel designed and built the Tower.",
    "The Eiffel Tower is 330 metres tall, how tall depends on the heat.",
    "The Louvre opened as a museum in 1793, when it had 537 paintings.",
    "The Mona Lisa, which Leonardo painted, hangs in the Louvre.",
    "The Seine is the river of Paris.",
    "In Paris, 37 bridges cross the Seine.",
    "The Metro of Paris opened in 1900.",
    "Notre-Dame is the church that burned in April 2019.",
    "The Bastille was stormed on 14 July 1789.",
]


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower())) - {"the", "of", "in", "was", "is", "a"}


def retrieve(question: str, top_k: int) -> list[str]:
    return sorted(PASSAGES, key=lambda one: len(words(one) & words(question)), reverse=True)[:top_k]


def answer_with(top_k: int):
    def answer(question: str) -> dict:
        found = retrieve(question, top_k)
        return {"output": " ".join(found), "contexts": found}

    return answer


answer_with_three = answer_with(3)
