"""What all of this needs: ids and routes of requests, their logs and counts, and what a word may have meant."""
