"""Settings of jobs: one frozen class for each script of the workflow.

``rllc.study.parameters`` makes them from the config. Each job reads its own from a file
(``rllc.job_settings.file``). These modules import neither torch nor the config. A script imports only the
module of its class, so an edit of another class leaves its fingerprint unchanged.
"""
