"""One connection from its handshake to its end."""
