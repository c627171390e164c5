"""What pages are put together from: numbers, tables, filters, addresses, calls of the API."""
