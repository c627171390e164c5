"""The families that look at questions, retrieved contexts and answers."""
