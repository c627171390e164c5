"""Import the data of a Patronus account: read through its API, oldest first, and stored once however often it runs."""
