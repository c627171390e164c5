"""What a gate rests on: whom it is about, their scores in stored order, and where they got worse."""
