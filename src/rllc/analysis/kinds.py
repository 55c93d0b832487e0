"""Types of heads by their attention scores. No arrays: the workflow reads them when it is parsed."""

TYPES = ("previous-token", "current-token", "induction", "multigram", "unknown")
