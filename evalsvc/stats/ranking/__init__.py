"""Rankings: strengths from judgements of pairs, with intervals over examples, rank ranges and win rates."""
