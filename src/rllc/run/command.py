"""The shell text of a rule: one script, its flags, its log."""


def command(script: str, *, watch: bool = False, **flags: str) -> str:
    """``python workflow/scripts/<script>.py --<name> {<kind>.<name>:q} ... > {log:q} 2>&1``.

    Every script is given ``params.code``, the fingerprint that it was planned with, and ``params.settings``,
    the file of its settings (``rllc.run.settings_files``). Where it fails, the end of its log (the error, in
    one line) is shown on the terminal.

    watch  also show on the terminal what the job writes to stderr (a progress bar), not what it prints
    flags  what else it is given, the names of each kind with spaces between: ``input="blocks teacher"``,
           ``wildcards="seed"``, ``output="dataset"``. Every value is quoted for the shell.
    """
    flags["params"] = f"code settings {flags.get('params', '')}"
    given = " ".join(f"--{name} {{{kind}.{name}:q}}" for kind in flags for name in flags[kind].split())
    call = f"python workflow/scripts/{script}.py {given}"
    if watch:
        return f": > {{log:q}}; {call} 2>&1 >> {{log:q}} | tee -a {{log:q}}"
    empty = "echo 'nothing is in its log: it was killed, or the disk is full' >&2; df -h {log:q} >&2"
    said = f"tail -n 3 {{log:q}} >&2; [ -s {{log:q}} ] || {{{{ {empty}; }}}}"
    return f"{call} > {{log:q}} 2>&1 || {{{{ {said}; exit 1; }}}}"
