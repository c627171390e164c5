"""Comparisons: which of two outputs is better, judged in both orders, and the ranking that follows."""
