"""Event webhooks: whom the account tells of events, what arrived there, and what to do about what did not."""
