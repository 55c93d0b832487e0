"""The shell command of a rule: one script, its flags, its log."""


def command(
    script: str, *, watch: bool = False, offline: bool = False, shown: bool = False, **flags: str
) -> str:
    """``python workflow/scripts/<script>.py --<name> {<kind>.<name>:q} ... > {log:q} 2>&1``.

    Every script gets ``params.code``, the fingerprint that it was planned with, and ``params.settings``, the
    file of its settings (``rllc.run.settings_files``). If it fails, the terminal shows the end of its log:
    the error, in one line.

    watch    show stderr of the job (a progress bar) on the terminal too, but not stdout
    offline  the job asks the hub for nothing (``HF_HUB_OFFLINE=1``), not even for a newer
             version of a file. Rules that read text or tokenizers of the hub leave it out
    shown    show stdout of the job on the terminal; its log has stderr alone
    flags    names of further flags by kind, separated by spaces: ``input="blocks teacher"``,
             ``wildcards="seed"``, ``output="dataset"``. Every value is quoted for the shell.
    """
    flags["params"] = f"code settings {flags.get('params', '')}"
    given = " ".join(f"--{name} {{{kind}.{name}:q}}" for kind in flags for name in flags[kind].split())
    call = f"{'HF_HUB_OFFLINE=1 ' if offline else ''}python workflow/scripts/{script}.py {given}"
    if watch:
        return f": > {{log:q}}; {call} 2>&1 >> {{log:q}} | tee -a {{log:q}}"
    empty = "echo 'nothing is in its log: it was killed, or the disk is full' >&2; df -h {log:q} >&2"
    said = f"tail -n 3 {{log:q}} >&2; [ -s {{log:q}} ] || {{{{ {empty}; }}}}"
    return f"{call} {'2> {log:q}' if shown else '> {log:q} 2>&1'} || {{{{ {said}; exit 1; }}}}"
