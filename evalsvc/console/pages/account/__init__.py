"""The account's own pages: keys, members, invitations, the audit trail, limits and retention."""
