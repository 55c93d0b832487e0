"""Runs on a Slurm cluster: submission, states of jobs, reasons of failures, and locks of outputs."""
