"""Truth intervals: what people would say of all scores of an evaluator, from the labels of a random draw of them."""
