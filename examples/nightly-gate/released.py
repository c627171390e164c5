"""What runs today: wrong where the result is negative."""


def answer(question: str) -> str:
    left, sign, right = question.split()
    return str(int(left) + int(right) if sign == "plus" else abs(int(left) - int(right)))
