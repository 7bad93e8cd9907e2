"""What a measurement can be at all: anything else is an error, and never a target that was met."""

import math


class Implausible(Exception):
    """Something was not measured, or cannot be as it was measured."""


def checked(measure, value, may_be_zero=False):
    """The value, if it can be one: a number, finite, not negative, and not zero unless that is said to be possible."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Implausible(f"{measure}: {value!r} is not a number")
    if not math.isfinite(value) or value < 0:
        raise Implausible(f"{measure}: it cannot be {value}")
    if value == 0 and not may_be_zero:
        raise Implausible(f"{measure}: it cannot be zero; was anything measured?")
    return value


def merged(runs, merge_rows):
    """The rows of several runs as one each. The runs must have the same rows, with values on the same sides."""
    first, *others = runs
    for rows in others:
        for one, other in zip(first, rows):
            if shape(one) != shape(other):
                raise Implausible(f"{one.measure}: another run has not measured it, or not the same of it")
        if len(rows) != len(first):
            raise Implausible(f"one run measured {len(first)} things and another {len(rows)}")
    return [merge_rows(rows) for rows in zip(*runs)]


def shape(row):
    return row.measure, row.unit, row.syncthing is None, row.synctrain is None, row.met is None


def check_judged(name, rows, with_synctrain):
    """Every target was held against something, if synctrain was measured at all."""
    if not with_synctrain:
        return
    if not rows:
        raise Implausible(f"{name}: nothing was measured")
    for row in rows:
        if row.target and row.met is None:
            raise Implausible(f"{row.measure}: {row.target} cannot be judged, as something was not measured")
