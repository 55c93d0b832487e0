"""Runs on a Slurm cluster: submission, states of jobs, why they failed, and who may write an output."""
