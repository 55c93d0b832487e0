"""What each script of the workflow is told beside its files: one frozen class per script.

The workflow makes them of the config (``rllc.study.parameters``) and keeps each in one file, which the job
reads (``rllc.job_settings.file``). No torch and no config is imported here. A script imports the module of
its own class alone: its fingerprint then changes with no other.
"""
