"""All measures and analyses, found by where they stand; nothing lists them.

A measure is a folder of ``rllc.measures`` whose module ``spec`` has a spec called ``MEASURE``. An analysis is
a spec called ``ANALYSIS`` in a module of ``rllc.study.analyses``; a module of several has ``ANALYSES``.
"""

from collections.abc import Iterator
from importlib import import_module

from rllc.study.discovery import modules
from rllc.study.specs import AnalysisSpec, MeasureSpec


def _measures() -> Iterator[MeasureSpec]:
    for name in modules("measures"):
        yield import_module(name).MEASURE


def _analyses() -> Iterator[AnalysisSpec]:
    for name in modules("analyses"):
        module = import_module(name)
        yield from module.ANALYSES if hasattr(module, "ANALYSES") else (module.ANALYSIS,)


MEASURES: tuple[MeasureSpec, ...] = tuple(_measures())
ANALYSES: tuple[AnalysisSpec, ...] = tuple(_analyses())
