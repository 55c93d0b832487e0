"""Types of heads by their attention scores. The workflow imports this at parse time: no arrays."""

TYPES = ("previous-token", "current-token", "induction", "multigram", "unknown")
