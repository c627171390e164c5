"""The demo of a first start: its accounts, and the first evaluation made for them. Without Django."""
