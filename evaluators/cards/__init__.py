"""Cards of evaluators: what each reads, measures and misses, how right it was on named sets, and what it costs.

`card` puts them together from what a family declares, what `texts` says in words, and the measured `figures`.
"""
