# Copyright the Nacre authors. Licensed under the Apache License, Version 2.0.
"""Lines of the table: both sides in one run, their median, a ratio and a limit."""
import dataclasses
import statistics


@dataclasses.dataclass
class Line:
    """One figure. `ratio` is ours against the peer so that `limit` reads as the requirement does; None is no limit."""
    name: str
    peer: str
    unit: str
    ours: list
    theirs: list
    ratio: float
    limit: tuple = None  # (">=" or "<=", number)

    @property
    def passed(self):
        if self.limit is None:
            return None
        sign, number = self.limit
        return self.ratio >= number if sign == ">=" else self.ratio <= number

    @property
    def verdict(self):
        return {None: "said only", True: "met", False: "MISSED"}[self.passed]

    @property
    def wanted(self):
        return "—" if self.limit is None else f"{'≥' if self.limit[0] == '>=' else '≤'} {self.limit[1]:g}"

    def row(self):
        return (f"| {self.name} | {self.peer} | {spread(self.ours, self.unit)} | {spread(self.theirs, self.unit)} "
                f"| {self.ratio:.2f} | {self.wanted} | {self.verdict} |")


def median(values):
    return statistics.median(values)


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def spread(values, unit):
    """Median, and the range of all rounds."""
    return f"{number(median(values))} {unit} ({number(min(values))}–{number(max(values))})"


def interleaved(first, second, rounds):
    """Runs both in pairs, the order turned around each time, after one pair that does not count."""
    first(), second()
    ones, twos = [], []
    for turn in range(rounds):
        if turn % 2 == 0:
            ones.append(first())
            twos.append(second())
        else:
            twos.append(second())
            ones.append(first())
    return ones, twos


def paired_ratio(ones, twos):
    """The median of the ratios of the pairs: what slowed the machine for a moment hit both of a pair."""
    return median([one / two for one, two in zip(ones, twos)])


def table(lines):
    head = "| Figure | Against | Nacre: median (range) | Peer: median (range) | Ratio | Limit | |"
    return "\n".join([head, "|---|---|---|---|---|---|---|", *(line.row() for line in lines)])
