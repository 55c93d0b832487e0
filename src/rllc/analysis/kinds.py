"""Types of heads by their attention scores. The workflow imports this at parse time: no arrays."""

TYPES = ("previous-token", "current-token", "induction", "multigram", "unknown")
# Scores from which on a head has a type. arXiv 2410.02984 prints no thresholds. At its end of training
# previous-token heads have 0.289 and 0.225, induction heads 0.055 and 0.079: these lie just below. Uniform
# attention in contexts of 128 tokens has 0.03 (previous and current token) and 0.011 (prefix matching).
THRESHOLDS = {"previous_token": 0.2, "current_token": 0.2, "prefix_matching": 0.05}
