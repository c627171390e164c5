"""Files of outputs: the 200 rows of a newcomer, and two files over the same questions."""

from __future__ import annotations

HEADER = "question,answer,context\n"
ROWS = HEADER + "".join(
    f"What costs ticket {i}?,Ticket {i} costs {i} euros.,Ticket {i} costs {i + (i % 10 == 0)} euros.\n"
    for i in range(1, 201)
)
GOLD = "id,question,answer,ground_truth\n" + "".join(f"q{i},What is {i}?,{i},{i}\n" for i in range(1, 31))
WORSE = "id,question,answer,ground_truth\n" + "".join(f"q{i},What is {i}?,{i % 20},{i}\n" for i in range(1, 31))
