"""Named units, in a module without heavy imports."""

NATS = "nats/token"
