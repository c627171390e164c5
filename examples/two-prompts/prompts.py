"""Two prompts, and a stand-in for a model that follows them to the letter."""

AUTHORS = {
    **{"Faust": "Goethe", "Hamlet": "Shakespeare", "Emma": "Austen", "Nana": "Zola", "Lolita": "Nabokov"},
    **{"Dracula": "Stoker", "Ulysses": "Joyce", "Candide": "Voltaire", "Medea": "Euripides", "Walden": "Thoreau"},
    **{"Ivanhoe": "Scott", "Pamela": "Richardson", "Beloved": "Morrison", "Dune": "Herbert", "Ficciones": "Borges"},
    **{"Germinal": "Zola", "Kim": "Kipling", "Middlemarch": "Eliot", "Persuasion": "Austen", "Rebecca": "Maurier"},
}
PASSAGES = {f"Who wrote {book}?": [f"{book} was written by {author}."] for book, author in AUTHORS.items()}
RIGHT = dict(zip(PASSAGES, AUTHORS.values(), strict=True))
PROMPTS = {
    "terse": "Answer in one word, from the passages only.\n{passages}\n{question}",
    "chatty": "Answer in a friendly sentence.\n{passages}\n{question}",
}


def ask(prompt: str) -> str:
    """Stand in for a model: replace it with a call of yours."""
    instruction, passage, _ = prompt.split("\n", 2)
    author = passage.rstrip(".").split()[-1]
    if "one word" in instruction:
        return author
    # Left to chat, it makes things up about every second book.
    return f"That was {author}!" if len(author) % 2 else "That was Homer, of course!"


def answer_with(name: str):
    def answer(question: str) -> dict:
        passages = PASSAGES[question]
        return {"output": ask(PROMPTS[name].format(passages=passages[0], question=question)), "contexts": passages}

    return answer
