"""Rules of what may be shown of a model's text, one group a module. Pure; each takes text and gives text."""
