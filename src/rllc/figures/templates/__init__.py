"""Jinja2 templates of the pages.

They are read at run time. A package that reads its ``__path__`` declares that it depends on all files of its
folder (``rllc.run.fingerprint``), so a page is written again after an edit of a template.
"""

FOLDERS = list(__path__)
