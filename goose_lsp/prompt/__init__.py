"""From a document and a cursor to prompt token ids."""
