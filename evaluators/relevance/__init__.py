"""What an answer and a context are read for beyond nearness: asking back, and a fact within one sentence."""
