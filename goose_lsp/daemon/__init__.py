"""The long-lived process: sessions, scheduling and the inference thread."""
