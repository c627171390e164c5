"""What a report says, as data: every number as the API answers it."""
