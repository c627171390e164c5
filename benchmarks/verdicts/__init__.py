"""How right the embedded evaluators are on labelled sets, each dated id beside the one before it, with intervals.

`python -m benchmarks.evaluators --write` measures all of it and writes what the cards of the evaluators read:
`evaluators/cards/figures.json`.
"""
