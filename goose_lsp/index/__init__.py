"""The workspace as a context store: scanned, tokenised, kept, followed. Feeds drafting and prompts."""
