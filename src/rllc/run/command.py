"""The shell text of a rule: one script, its flags, its log."""


def command(script: str, *flags: str, watch: bool = False) -> str:
    """``python workflow/scripts/<script>.py --<name> {<flag>:q} ... > {log:q} 2>&1``.

    Where the script fails, the end of its log (the error, in one line) is shown on the terminal.

    flags  what the script is given, as Snakemake names it: ``input.blocks``, ``wildcards.seed``,
           ``params.sampling``, ``output.dataset``; the flag is the name after the dot. Every value is
           quoted for the shell.
    watch  also show what the job writes (a progress bar) on the terminal
    """
    given = " ".join(f"--{flag.partition('.')[2]} {{{flag}:q}}" for flag in ("params.code", *flags))
    call = f"python workflow/scripts/{script}.py {given}"
    if watch:
        return f"{call} 2>&1 | tee {{log:q}}"
    empty = "echo 'nothing is in its log: it was killed, or the disk is full' >&2; df -h {log:q} >&2"
    said = f"tail -n 3 {{log:q}} >&2; [ -s {{log:q}} ] || {{{{ {empty}; }}}}"
    return f"{call} > {{log:q}} 2>&1 || {{{{ {said}; exit 1; }}}}"
