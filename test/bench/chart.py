"""chart.py - draws bandwidth by size, from a stored run of run.py, as an SVG picture.

Two panels, to the device and from it, have one line for each variant: plain, hotpin, hand-tuned.  A
point is the median over the rounds, its bar their range.  The data is that of `run.py copies`.

The picture is shown in narrow and wide, light and dark pages.  So it is one column, has its own
background, and follows the reader's color scheme.  The width of letters is overestimated, so that
no font cuts off a text.
"""

import math
import statistics
from xml.sax.saxutils import escape

import rows
import tables

WIDTH, LEFT, RIGHT, PANEL, GAP = 460, 36, 122, 210, 62
TOP, LINE, FONT, SMALL = 62, 17, 14, 12
EM = 0.6  # width of a letter, on average; most sans-serif fonts are narrower
BAR = 3
VARIANTS = ("plain", "hand", "hotpin")  # the last is drawn on top
LABELS = {"plain": "plain", "hotpin": "hotpin", "hand": "hand-tuned"}
WAYS = (
    ("h2d", "synchronously to the device, GB/s"),
    ("d2h", "synchronously from the device, GB/s"),
)
SMALLEST = 4096  # bytes of a copy
STYLE = """
text { font: %dpx system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
.small { font-size: %dpx; fill: #59636e }
.head { font-weight: 600 }
.page { fill: #ffffff }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.plain { stroke: #6e7781; fill: #6e7781 }
.hand { stroke: #0969da; fill: #0969da }
.hotpin { stroke: #bc4c00; fill: #bc4c00 }
.line.hand { stroke-width: 7; stroke-opacity: 0.35 }
.line.plain, .line.hotpin, .line.hand { fill: none }
text.plain, text.hand, text.hotpin { stroke: none; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .small { fill: #9198a1 }
  .page { fill: #0d1117 }
  .grid { stroke: #3d444d }
  .plain { stroke: #9198a1; fill: #9198a1 }
  .hand { stroke: #58a6ff; fill: #58a6ff }
  .hotpin { stroke: #f0883e; fill: #f0883e }
  .line.hand { stroke-opacity: 0.5 }
}
""" % (FONT, SMALL)


class Unfit(Exception):
    """The run lacks data for the picture."""


def text_width(text, size=FONT):
    return len(text) * size * EM


def wrapped(text, size, width):
    """Divides the words of a text into lines that fit."""
    lines = [""]
    for word in text.split():
        longer = (lines[-1] + " " + word).strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def points_of(store, way):
    """Returns variant -> [(bytes, median, least, most)] in GB/s, by size."""
    bench = tables.benchmarks([store]).get("copies")
    if bench is None:
        raise Unfit("no benchmark called copies in this run")
    result = {variant: [] for variant in VARIANTS}
    for key, seconds in bench["samples"].items():
        metric, _, variant = key.partition("@")
        what, _, size = metric.rpartition("_")
        if what != "hot_%s_sync" % way or rows.size_bytes(size) < SMALLEST:
            continue
        rates = [rows.size_bytes(size) / s / 1e9 for s in seconds]
        middle = rows.size_bytes(size) / statistics.median(seconds) / 1e9
        result[variant].append((rows.size_bytes(size), middle, min(rates), max(rates)))
    return {variant: sorted(points) for variant, points in result.items() if points}


def in_words(size):
    for name, shift in (("G", 30), ("M", 20), ("K", 10)):
        if size >= 1 << shift:
            return "%d %siB" % (size >> shift, name)
    return "%d B" % size


def nice_step(most):
    """Returns the step for four to nine lines between 0 and the largest value."""
    rough = most / 5
    scale = 10 ** math.floor(math.log10(rough))
    return next(scale * f for f in (1, 2, 5, 10) if scale * f >= rough)


def spread_out(wanted, least):
    """Returns heights of labels in their order, with at least this distance."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = list(wanted)
    for before, now in zip(order, order[1:]):
        placed[now] = max(placed[now], placed[before] + least)
    return placed


class Panel:
    def __init__(self, series, top, most):
        self.series, self.top, self.most = series, top, most
        sizes = sorted({point[0] for points in series.values() for point in points})
        self.sizes = sizes
        self.low, self.high = math.log2(sizes[0]), math.log2(sizes[-1])

    def x(self, size):
        share = (math.log2(size) - self.low) / ((self.high - self.low) or 1)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, rate):
        return self.top + PANEL * (1 - rate / self.most)

    def frame(self, heading):
        yield '<text class="head" x="8" y="%g">%s</text>' % (self.top - 14, escape(heading))
        step = nice_step(self.most)
        for i in range(int(self.most / step + 1e-9) + 1):
            y = self.y(i * step)
            yield '<path class="grid" d="M%d %gH%d"/>' % (LEFT, y, WIDTH - RIGHT)
            yield '<text class="small" text-anchor="end" x="%d" y="%.1f">%g</text>' % (
                LEFT - 6, y + 4, i * step)
        widest = max(text_width(in_words(size), SMALL) for size in self.sizes) + 8
        pitch = (WIDTH - LEFT - RIGHT) / max(1, len(self.sizes) - 1)
        for size in self.sizes[:: math.ceil(widest / pitch)]:
            yield '<text class="small" text-anchor="middle" x="%.1f" y="%d">%s</text>' % (
                self.x(size), self.top + PANEL + 18, in_words(size))

    def lines(self):
        for variant in VARIANTS:
            points = self.series.get(variant, [])
            if not points:
                continue
            path = "L".join("%.1f %.1f" % (self.x(p[0]), self.y(p[1])) for p in points)
            yield '<path class="line %s" d="M%s"/>' % (variant, path)
            if variant == "hand":
                continue
            for size, middle, least, most in points:
                x = self.x(size)
                if self.y(least) - self.y(most) > 2 * BAR:
                    yield '<path class="line %s" d="M%.1f %.1fV%.1f"/>' % (
                        variant, x, self.y(least), self.y(most))
                yield '<circle class="%s" cx="%.1f" cy="%.1f" r="%d"/>' % (
                    variant, x, self.y(middle), BAR)

    def labels(self):
        ends = [(v, self.series[v][-1][1]) for v in LABELS if v in self.series]
        ends.sort(key=lambda end: end[1])
        lowest = [min(self.y(rate) + 5, self.top + PANEL) for _, rate in ends]
        # From the bottom up: the first one keeps its place.
        heights = [-h for h in spread_out([-h for h in lowest], LINE)]
        for (variant, rate), y in zip(ends, heights):
            yield '<text class="%s" x="%d" y="%.1f">%s %.3g</text>' % (
                variant, WIDTH - RIGHT + 10, y, LABELS[variant], rate)


def chart(store):
    """Returns the picture as text; raises Unfit."""
    series = [points_of(store, way) for way, _ in WAYS]
    panels = [(found, heading) for found, (_, heading) in zip(series, WAYS) if found]
    if not panels or not any("hotpin" in found for found, _ in panels):
        raise Unfit("this run has no repeated copies")
    rates = [p[3] for found, _ in panels for points in found.values() for p in points]
    step = nice_step(max(rates))
    most = math.ceil(max(rates) / step - 1e-9) * step
    rounds = tables.in_rounds([tables.benchmarks([store])["copies"]])
    title = "Copying one buffer, again and again"
    note = tables.caption(store).replace("`", "") + "; " + rounds
    notes = wrapped(note, SMALL, WIDTH - 16)
    height = TOP + len(panels) * (PANEL + GAP) + (len(notes) - 1) * LINE
    body = ['<text class="head" x="8" y="22">%s</text>' % escape(title)]
    for i, (found, heading) in enumerate(panels):
        panel = Panel(found, TOP + i * (PANEL + GAP), most)
        body += [*panel.frame(heading), *panel.lines(), *panel.labels()]
    for i, line in enumerate(notes):
        y = height - (len(notes) - i) * LINE + 8
        body.append('<text class="small" x="8" y="%d">%s</text>' % (y, escape(line)))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">\n'
        "<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>\n"
        '<rect class="page" width="100%%" height="100%%"/>\n%s\n</svg>\n'
        % (WIDTH, height, escape(title), escape(note), STYLE, "\n".join(body))
    )
