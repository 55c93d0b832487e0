"""Torch modules of the user in the config. Imports no torch."""
