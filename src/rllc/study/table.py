"""Discover all measures and analyses from their files. There is no list to maintain.

A measure is a folder in ``rllc.measures`` whose module ``spec`` defines ``MEASURE``. An analysis is a module
in ``rllc.study.analyses`` that defines ``ANALYSIS``, or ``ANALYSES`` for several.
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
        yield from getattr(module, "ANALYSES", None) or [module.ANALYSIS]


MEASURES: tuple[MeasureSpec, ...] = tuple(_measures())
ANALYSES: tuple[AnalysisSpec, ...] = tuple(_analyses())
