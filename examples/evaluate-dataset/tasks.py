"""Three tasks of one kind: a text in, a word out."""

GOOD = {"thank", "kind", "quick", "early", "right", "easy"}
BAD = {"late", "broken", "nobody", "twice", "no", "nothing"}


def words(text: str) -> set[str]:
    return {word.strip(".,").lower() for word in text.split()}


def by_good_words(text: str) -> str:
    return "positive" if words(text) & GOOD else "negative"


def always_negative(text: str) -> str:
    return "negative"


def by_both(text: str) -> str:
    found = words(text)
    return "positive" if len(found & GOOD) > len(found & BAD) else "negative"
