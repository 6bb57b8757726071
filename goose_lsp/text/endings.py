"""Where a completion ends. Pure text rules."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EndRule:
    """Decides from the surroundings where the model's text stops being the wanted completion."""

    indent: int  # characters of indentation of the cursor's line
    is_single_line: bool  # something follows the cursor on its line

    @classmethod
    def at(cls, line_before: str, line_after: str) -> "EndRule":
        indent = len(line_before) - len(line_before.lstrip(" \t"))
        return cls(indent, bool(line_after.strip()))

    def end(self, text: str) -> int | None:
        """Where `text`, the model's so far, must be cut; None while it may go on.

        The first line always belongs to the completion. After it a block ends before a line indented
        less than the cursor's, and at the top level also at a blank line.
        """
        line_end = text.find("\n", len(text) - len(text.lstrip()) if not self.is_single_line else 0)
        if line_end < 0:
            return None
        if self.is_single_line:
            return line_end
        start = line_end + 1
        while start < len(text):
            next_end = text.find("\n", start)
            line = text[start:] if next_end < 0 else text[start:next_end]
            content = line.lstrip(" \t")
            if content and len(line) - len(content) < self.indent:
                return line_end
            if next_end < 0:
                return None
            if not content and self.indent == 0:
                return line_end
            if content:
                line_end = next_end
            start = next_end + 1
        return None
