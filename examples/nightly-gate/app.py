"""The candidate."""


def answer(question: str) -> str:
    left, sign, right = question.split()
    return str(int(left) + int(right) if sign == "plus" else int(left) - int(right))
