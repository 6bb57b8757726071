"""The language server process. Light: it talks to the daemon and never imports torch."""
