"""Cards of evaluators: what each reads, measures and misses, how accurate it was on published sets, and its cost.

`card` combines the declarations of a family, the descriptions in `texts`, and the measured `figures`.
"""
