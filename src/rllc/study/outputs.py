"""What measures and analyses make: the variables of datasets, and figures."""

from typing import NamedTuple


class Variable(NamedTuple):
    """A variable of a dataset: its long name, its unit, and its dims beside seed, step and distribution.

    long_name  "": the kernel sets long name and unit itself. The estimator does, because users also call it
               outside the workflow
    optional   condition under which an experiment has the variable; "": always
    over       of a standard error: the key of the section that holds the number of independent units, such as
               ``probes``. The dataset records this number less one: the degrees of freedom of an interval
    """

    long_name: str
    unit: str
    dims: tuple[str, ...] = ()
    optional: str = ""
    over: str = ""


class FigureSpec(NamedTuple):
    """Specification of a figure.

    draws     the drawing function, ``module:function``
    needs     required datasets
    uses      optional datasets; shell patterns are allowed (``rllc.*``: the rLLC at every further sampling
              setting)
    category  heading in the documents: ``baselines``, ``stages`` or ``tokens``, for example
    target    Snakemake target that builds it; figures of long studies are not part of ``all``
    several   whether it can also draw datasets of other experiments, given as ``<dataset>@<experiment>``
    others    these datasets; empty: those of ``needs``
    behind    datasets of the stages behind its panels, which are read if the config asks for ``stages``: the
              LLC that gives them may cost more than all that the figure needs
    seeds     smallest number of training seeds that the experiment needs
    requires  capabilities of the model's family that it needs beside those of its datasets
    """

    draws: str
    needs: tuple[str, ...]
    uses: tuple[str, ...] = ()
    category: str = "heads"
    target: str = "all"
    several: bool = False
    seeds: int = 1
    others: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()

    def reads(self, *, stages: bool) -> tuple[str, ...]:
        """Return the optional datasets, with those of the stages behind its panels or without."""
        return (*self.uses, *self.behind) if stages else self.uses
