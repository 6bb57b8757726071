"""The wire between clients and the daemon: framing, messages and the client side."""
