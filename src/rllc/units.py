"""Units that have a name, where nothing heavy is imported."""

NATS = "nats/token"
