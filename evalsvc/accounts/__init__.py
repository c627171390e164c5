"""Accounts, members, API keys and the audit: who calls, and what they may do."""
