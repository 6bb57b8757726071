"""`python -m goose_lsp` is the same as `goose-lsp`."""

import sys

from goose_lsp.cli import main

if __name__ == "__main__":
    sys.exit(main())
