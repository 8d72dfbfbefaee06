#!/usr/bin/env python3
"""Tests the pages of `hotpin html` in a browser, if Chromium is installed.  test_browser.py HOTPIN"""
import os
import re

import browser
import made
import sources
import tap
from tap import check, write

# Text with too little contrast, by WCAG 2.1: 4.5, of large text 3.
CONTRAST = r"""(() => {
  const number = text => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 :
      ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = number(getComputedStyle(node).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();) {
    const node = walk.currentNode.parentElement, style = getComputedStyle(node);
    if (!walk.currentNode.data.trim() || node.closest('script,title,option')) continue;
    const [a, b] = [light(number(node.closest('svg') && !node.closest('foreignObject') ? style.fill : style.color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(`${walk.currentNode.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(bad)];
})()"""
# Elements that extend beyond the window and are in no box that scrolls.
WIDE = """[...document.querySelectorAll('body *')].filter(node => {
  const box = node.getBoundingClientRect();
  return box.right > innerWidth + 1 && !node.closest('.scroll') && !node.closest('svg');
}).map(node => node.tagName + '.' + node.className).slice(0, 9)"""
# Text of a drawing that extends beyond it.
CUT = """[...document.querySelectorAll('svg text')].filter(node => {
  const box = node.getBoundingClientRect(), all = node.ownerSVGElement.getBoundingClientRect();
  return box.width && (box.left < all.left - 1 || box.right > all.right + 1);
}).map(node => node.textContent)"""
SMALL = """[...document.querySelectorAll('a, summary, button, input, select')].filter(node => {
  const box = node.getBoundingClientRect();
  return box.width && (box.height < 23.9 || box.width < 23.9);
}).map(node => [node.textContent.trim().slice(0, 30), node.ariaLabel,
  node.getBoundingClientRect().width, node.getBoundingClientRect().height])"""
DEAD = """[...document.querySelectorAll('a[href]')].map(link => link.getAttribute('href')).filter(
  href => !href.startsWith('#') || !document.getElementById(href.slice(1)))"""
# Structure and names: duplicate ids, pictures and regions without a name, skipped heading levels.
UNNAMED = """(() => {
  const ids = [...document.querySelectorAll('[id]')].map(node => node.id);
  const levels = [...document.querySelectorAll('h1,h2,h3')].map(node => +node.tagName[1]);
  return [...ids.filter((id, at) => ids.indexOf(id) !== at),
    ...[...document.querySelectorAll('svg')].filter(node => !node.closest('[aria-hidden]') &&
      !(node.getAttribute('role') && node.getAttribute('aria-label'))).map(() => 'svg'),
    ...[...document.querySelectorAll('section, nav')].filter(node => !node.ariaLabel &&
      !document.getElementById(node.getAttribute('aria-labelledby'))).map(node => node.tagName),
    ...levels.filter((level, at) => at > 0 && level > levels[at - 1] + 1).map(level => 'h' + level)];
})()"""
SIZE = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight, " \
       "document.querySelectorAll('*').length, innerWidth]"
BOTTOM = "Math.max(...[{}].map(name => document.querySelector(name).getBoundingClientRect().bottom))"

COLORS = ("host", "startup", "calls", "transfer", "kernel", "overlap", "h2d", "d2h", "saving", "warn")
# The perceived parts of red, green and blue: with all cones, and without one kind (Machado,
# Oliveira and Fernandes 2009, severity 1).
EYES = {"all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                       (-0.003882, -0.048116, 1.051998)),
        "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                         (-0.011820, 0.042940, 0.968881)),
        "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                       (0.004733, 0.691367, 0.303900))}


def linear(color):
    parts = [int(color[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(color, eye):
    r, g, b = (max(0, min(1, sum(row[i] * part for i, part in enumerate(linear(color)))))
               for row in eye)

    def root(value):
        return value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116
    x, y, z = (root(value) for value in ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
                                         0.2126 * r + 0.7152 * g + 0.0722 * b,
                                         (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def colors(shown, scheme):
    """No two meanings may look alike: CIE 1976, where 2.3 is just noticeable."""
    for name, eye in EYES.items():
        near = [f"{one} {other} {apart:.1f}" for at, one in enumerate(COLORS) for other in COLORS[:at]
                if (apart := sum((a - b) ** 2 for a, b in zip(lab(shown[one], eye),
                                                              lab(shown[other], eye))) ** 0.5) < 20]
        check(f"{scheme}, {name}: colors that can be told apart", not near, near)


def stages():
    """Four stages with three repeats: wall times of the median run, and 2 % above and below."""
    files = []
    walls = ((made.first, "1: cpu", 12), (made.first, "2: one kernel", 12), (made.second, "3: pinned", 9),
             (made.third, "4: resident", 3))
    for profile, label, seconds in walls:
        for run, percent in enumerate((98, 100, 102)):
            one = profile()
            one["stage"] = label
            one["split"]["host_ns"] += seconds * made.SECOND * percent // 100 - one["wall_ns"]
            one["wall_ns"] = seconds * made.SECOND * percent // 100
            files.append(write(f"{label[0]}-{run}.json", one))
    return files


def ranks():
    """Rank 17 is the slowest; the more kernels another rank has, the less host code it has."""
    files = []
    for number in range(64):
        one = made.ported_next()
        one["process"].update(rank=str(number), ranks=64, pid=100 + number)
        more = number * 37 % 64 * 4 * made.MILLI
        one["split"]["kernel_ns"] += more
        one["split"]["host_ns"] += (500 * made.MILLI if number == 17 else 0) - more
        one["wall_ns"] += 500 * made.MILLI if number == 17 else 0
        files.append(write(f"rank{number}.json", one))
    return files


def pages():
    """Returns each page by its name."""
    sources.prepare()
    run = sources.profile()
    run["samples"].append(sources.chain(5, made.frame(0, sources.UPLOAD + 0x10)))
    many = made.first()
    many["kernels"] = [made.kernel(f"k{i}", i + 1, 1000 - i) for i in range(200)]
    makers = {"one": [write("one.json", made.ported_next())],
              "stages": stages(), "ranks": ranks(),
              "no CUPTI": [write("without.json", made.without_device())],
              "no samples": [write("unsampled.json", made.unsampled())],
              "hostile": [write("hostile.json", made.hostile())],
              "source": [write("run.json", run)],
              "many kernels": [write("many.json", many)],
              "trace": [write("trace.json", made.looped(100))],
              "100,000 events": [write("events.json", made.looped(20_000))]}
    for name, files in makers.items():
        path = os.path.join(tap.FOLDER.name, name.replace(" ", "_") + ".html")
        done = tap.run("html", "-o", path, *files)
        if check(f"{name}: written, below 150,000 bytes", done.returncode == 0 and
                 (done.stderr == "") == (name != "source") and os.stat(path).st_size < 150_000, done.stderr,
                 os.stat(path).st_size):
            yield name, path


def shape(shown, name, width, dark):
    """Checks what must hold for a page at any width, in both color schemes."""
    where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
    wide, high, nodes, inner = shown.ask(SIZE)
    check(f"{where}: nothing sticks out", wide <= inner and not shown.ask(WIDE), wide,
          shown.ask(WIDE))
    check(f"{where}: contrast", not (bad := shown.ask(CONTRAST)), bad)
    check(f"{where}: no text is cut off", not (cut := shown.ask(CUT)), cut)
    check(f"{where}: targets", not (small := shown.ask(SMALL)), small)
    if width == 1300:
        check(f"{name}: below 6,000 pixels and 4,000 nodes", high < 6000 and nodes < 4000, high, nodes)
        check(f"{name}: each link resolves", not (dead := shown.ask(DEAD)), dead)
        check(f"{name}: names and order", not (bad := shown.ask(UNNAMED)), bad)


def icicle(shown):
    boxes = "[...document.querySelectorAll('.icicle [role=treeitem]')].filter(box => !box.hidden)"
    wide = shown.ask(boxes + ".map(box => [box.ariaLevel, box.textContent, "
                     "Math.round(1394 * box.getBoundingClientRect().width / "
                     "document.querySelector('.icicle').getBoundingClientRect().width)])")
    check("boxes are as wide as their samples", [[level, name] for level, name, _ in wide] == [
        ["1", "all samples"], ["2", "[heat]"], ["3", "[heat]"], ["3", "[libcuda.so.580.159]"],
        ["2", "step in x.py"], ["3", "[heat]"], ["4", "step in x.py"], ["2", "[unknown]"],
        ["2", "[libcuda.so.580.159]"]] and all(abs(one - other) < 8 for (_, _, one), other in zip(
            wide, (1394, 697, 597, 99, 398, 398, 398, 199, 100))), wide)
    shown.ask("document.querySelector('#host .tools input').focus()")
    shown.call("Input.insertText", text="STEP IN")
    text = shown.ask("document.querySelector('#host .tools').innerText")
    check("the search marks what it finds, recursion once", "28.6 % of all samples" in text and
          shown.ask("document.querySelectorAll('.icicle .hit').length") == 2, text)
    shown.ask("document.querySelector('.icicle [role=treeitem]').focus()")
    for name in ("ArrowDown", "ArrowRight", "Enter"):
        key(shown, name)
    check("keys lead to a function and show it alone", shown.ask(
        "document.querySelector('.icicle').dataset.shown").startswith("step in x.py: 28.6 %, 2.00 s") and
        shown.ask(boxes + ".map(box => box.textContent)") == [
            "all samples", "step in x.py", "[heat]", "step in x.py"],
        shown.ask(boxes + ".map(box => box.title)"))
    key(shown, "Escape")
    check("and all again", shown.ask(boxes + ".length") == 9)


def of_source(shown):
    rows = shown.ask("[...document.querySelectorAll('#source details[open] tbody tr')].map("
                     "row => [...row.cells].map(cell => cell.textContent))")
    check("lines as hotpin annotate has them", ["200", "24.0 GB", "2.90 s", "25.1 ms", "10", "line_10;"] in rows and
          ["", "", "", "3.00 s", "40", "line_40;"] in rows and
          [row[5] for row in rows] == [f"line_{i};" for i in (*range(7, 16), *range(37, 46))], rows)
    text = shown.ask("document.querySelector('#source').innerText")
    check("the lines with figures are marked", [row[4] for row in rows if "".join(row[:4])] == shown.ask(
        "[...document.querySelectorAll('#source details[open] tr.hot')].map(row => row.cells[4].textContent)"), rows)
    check("other files are folded, and what cannot be read is said", sources.FAR in text and shown.ask(
        "document.querySelectorAll('#source details').length") == 2 and shown.ask(
        "document.querySelector('#source details:not([open])').textContent").count(
            "the source is not shown: it is not below the current folder"), text)
    links = shown.ask("[...document.querySelectorAll('#next td a')].map(link => [link.hash, "
                      "link.textContent])")
    lines_of_rows(shown)
    check("advice leads to lines", ["#line-0-40", "main at heat.c:40"] in links, links)
    shown.ask("document.querySelector('#source details[open]').open = false")
    shown.ask("[...document.links].find(link => link.hash === '#line-0-40').click()")
    settle(shown)
    check("also where they are folded", shown.ask(
        "document.getElementById('line-0-40').getBoundingClientRect().top") < 800 and shown.ask(
        "document.getElementById('line-0-40').checkVisibility()"))


def lines_of_rows(shown):
    links = shown.ask("[...document.querySelectorAll('#sites a, #host td a')].map(link => link.hash)")
    check("call sites and functions lead to their lines", set(links) == {
        "#line-0-10", "#line-0-12", "#line-0-40", "#line-0-42", "#line-1-7"}, links)


def by_column(shown):
    """Tables are sorted by a click, in both orders, and filtered."""
    column = "[...document.querySelectorAll('#host tbody tr')].map(row => row.cells[{}].textContent)"
    click_it = "document.querySelectorAll('#host th')[{}].querySelector('button').click()"
    shown.ask(click_it.format(3))
    down = shown.ask(column.format(3))
    shown.ask(click_it.format(3))
    up = shown.ask(column.format(3))
    check("by numbers, from the most and from the least", down == ["29.7 ms", "10.0 ms", "200 us"] and
          up == down[::-1], down, up)
    check("which a reader is told", shown.ask("document.querySelectorAll('#host th')[3].ariaSort") ==
          "ascending")
    shown.ask(click_it.format(0))
    check("by text", shown.ask(column.format(0)) == sorted(shown.ask(column.format(0)), reverse=True))


def many_rows(shown):
    """Folded rows are sorted and filtered, too."""
    rows = "[...document.querySelectorAll('#kernels tbody tr')].filter(row => !row.hidden).map(" \
           "row => row.cells[0].textContent)"
    check("200 kernels", len(shown.ask(rows)) == 200)
    button = "document.querySelectorAll('#kernels th')[3].querySelector('button').click();"
    shown.ask(button + button)
    check("sorted by runs, from the least", shown.ask(rows)[:16] == [f"k{i}" for i in range(16)],
          shown.ask(rows)[:20])
    shown.ask("document.querySelector('#kernels .filter').focus()")
    shown.call("Input.insertText", text="k10")
    check("filtered", shown.ask(rows) == ["k10"] + [f"k{i}" for i in range(100, 110)], shown.ask(rows))


def first_screen(shown, name):
    """The first screen has headline, split and first advice; of stages and ranks the
    headline and the drawing."""
    parts = [part for part in (("'.headline'", "'.stages'") if name == "stages" else
                               ("'.headline'", "'.ranks'") if name == "ranks" else
                               ("'.headline'", "'#time table'", "'.strip'", "'#next tbody tr'"))
             if shown.ask(f"document.querySelector({part}) !== null")]
    bottom = shown.ask(BOTTOM.format(", ".join(parts)))
    check(f"{name}: what matters most ends above 800 pixels", 0 < bottom <= 800 and
          (len(parts) > 3 or name == "no CUPTI" or "First: " in shown.ask(
              "[...document.querySelectorAll('.headline')].map(node => node.innerText).join()")), bottom, parts)


def without_script(shown, path):
    """Pictures and tables are shown; elements that need a script are not."""
    shown.show(path, 360, script=False)
    wide, _, _, inner = shown.ask(SIZE)
    check("without script: pictures and tables, no buttons", wide <= inner and not shown.ask(WIDE) and
          shown.ask("document.querySelectorAll('button, input, canvas').length") == 0 and
          shown.ask("document.querySelector('.strip').checkVisibility() && "
                    "document.querySelectorAll('table').length > 5"), wide)


def one(shown):
    savings = shown.ask("[...document.querySelectorAll('#next td .saving')].map("
                        "bar => +bar.getAttribute('width'))")
    check("savings never increase down the list", len(savings) > 3 and
          savings == sorted(savings, reverse=True), savings)
    check("a bar is the saving: 7.01 s of 12", abs(savings[0] - 5840) < 10, savings)
    check("the headline has the largest state and the first advice", re.match(
        r"Host code: 5\.80 s of 12\.0 s \(48\.4 %\)\. First: port .*, which saves about 7\.01 s \(58\.4 %\)\.$",
        text := shown.ask("document.querySelector('.headline').innerText")), text)
    order = shown.ask("[...document.querySelectorAll('nav a')].map(link => link.hash.slice(1))")
    check("links are in the order of the sections", order == shown.ask(
        "[...document.querySelectorAll('section')].map(node => node.id)"), order)
    by_keyboard(shown)
    icicle(shown)


def by_keyboard(shown):
    """The Tab key reaches each visible link and summary, and shows its focus."""
    wanted = shown.ask("[...document.querySelectorAll('a[href], summary')].filter("
                       "node => node.checkVisibility()).map(node => node.textContent.trim())")
    reached = []
    # Boxes that scroll are reached, too.
    for _ in range(2 * len(wanted) + 20):
        for kind in ("keyDown", "keyUp"):
            shown.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                       windowsVirtualKeyCode=9)
        found = shown.ask("""(() => {
          const node = document.activeElement;
          return [node.tagName, node.textContent.trim(), getComputedStyle(node).outlineStyle];
        })()""")
        if found[0].upper() in ("A", "SUMMARY") and found[2] == "solid":
            reached.append(found[1])
        if len(reached) == len(wanted):
            break
    check("the keyboard reaches all, in order", reached == wanted, wanted, reached)


def on_paper(shown, path):
    """In print, folded parts are open and links to sections are missing."""
    shown.show(path, 768)
    shown.call("Emulation.setEmulatedMedia", media="print", features=[])
    wide, _, _, inner = shown.ask(SIZE)
    hidden = shown.ask("[...document.querySelectorAll('details')].filter(node => "
                       "!node.lastElementChild.checkVisibility()).length")
    check("printed: all of it", wide <= inner and hidden == 0 and
          shown.ask("document.querySelector('nav').offsetHeight") == 0, wide, inner, hidden)
    shown.call("Emulation.setEmulatedMedia", media="", features=[])


def of_stages(shown):
    text = shown.ask("document.querySelector('#stages').innerText")
    check("the median of each stage", re.search(r"Wall time\s+12\.0 s\s+12\.0 s\s.*9\.00 s\s.*3\.00 s", text), text)
    check("and its repeats", "1-1.json and 2 more, 11.8 s to 12.2 s" in re.sub(r"\s+", " ", shown.ask(
        "document.querySelector('header details').textContent")), text)
    check("a change within the noise is none", "~noise" in text, text)
    check("what the stage before predicted", re.search(r"Predicted before\s.*(~|>=)\S+ s", text), text)
    cells = shown.ask("[...document.querySelectorAll('.stages > div')].map(cell => "
                      "[[...cell.querySelectorAll('rect')].reduce((sum, rect) => sum + "
                      "+rect.getAttribute('height'), 0), ...['.hatch', 'path.mark:not(.predicted)', '.predicted'].map("
                      "kind => cell.querySelectorAll(kind).length)])")
    check("a scale, a column for each stage, and a step between two", len(cells) == 1 + 4 + 3, cells)
    check("columns are on one scale: 12 s, 3 s", abs(cells[1][0] / cells[7][0] - 4) < 0.05, cells)
    check("steps within the noise are hatched, others are not", [cell[1] for cell in cells[2::2]] == [0, 2, 1] and
          cells[2][0] == 0 and cells[4][0] > 0, cells)
    check("repeats have a whisker, and what the stage before predicted a mark",
          [cell[2:] for cell in cells[1::2]] == [[1, 0], [1, 1], [1, 1], [1, 1]], cells)
    lines = shown.ask("[...document.querySelectorAll('.stages span')].map(node => node.getClientRects().length)")
    check("no figure is broken across lines", lines and set(lines) == {1}, lines)


def of_ranks(shown):
    text = shown.ask("document.querySelector('.ranks').innerText")
    check("each rank's number", sorted(map(int, text.split())) == list(range(64)), text)
    heat = shown.ask("[...document.querySelectorAll('.ranks .kernel')].map(row => +row.getAttribute('fill-opacity'))")
    check("the more of a state, the fuller its color", heat.index(max(heat)) == 19 and heat.index(min(heat)) == 0 and
          (min(heat), max(heat)) == (0.1, 1), heat)
    check("the slowest is framed, named and opened", shown.ask(
        "[...document.querySelectorAll('.ranks .slowest')].map(tile => tile.innerText.trim())") == ["17"] and
          "rank 17" in shown.ask("document.querySelector('header').innerText"))
    text = shown.ask("document.querySelector('#ranks').innerText")
    check("who waits for whom", "Most uneven: Kernels. Rank 19 has" in text, text)
    check("least, median, most", re.search(r"Kernels\s+1\.00 s\s+1\.13 s\s+1\.25 s\s+1[0-9.]+ %\s+0\s+19", text), text)


def key(shown, name, text=""):
    for kind in ("keyDown", "keyUp"):
        shown.call("Input.dispatchKeyEvent", type=kind, key=name,
                   **({"text": text} if text and kind == "keyDown" else {}))


def settle(shown):
    shown.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def main():
    shown, why = browser.start(60 * tap.SLOWNESS)
    if not shown:
        tap.skip_all(why)
    try:
        more = {"one": one, "stages": of_stages, "ranks": of_ranks, "trace": by_column, "many kernels": many_rows,
                "source": of_source}
        widths = (((360, True), (390, False), (768, True), (800, False), (1300, False),
                   (1600, True)),
                  ((360, True), (1300, False)))
        for name, path in pages():
            for width, dark in widths[name in ("many kernels", "100,000 events")]:
                logged, asked = shown.show(path, width, dark=dark)
                check(f"{name}, {width}: no message, no request", not logged and not asked, logged, asked)
                shape(shown, name, width, dark)
                if width == 1300:
                    first_screen(shown, name)
                if width == 1300 and name in more:
                    more[name](shown)
            if name == "trace":
                without_script(shown, path)
                on_paper(shown, path)
            if name == "one":
                on_paper(shown, path)
                for dark in (False, True):
                    shown.show(path, 1300, dark=dark)
                    colors({color: shown.ask("getComputedStyle(document.documentElement)"
                                             f".getPropertyValue('--{color}').trim()")
                            for color in COLORS}, "dark" if dark else "light")
        attacked = os.path.join(tap.FOLDER.name, "attacked.html")
        with open(path, encoding="utf-8") as file:
            write("attacked.html", file.read().replace(
                "</body>", "<script>document.title='ran'</script></body>"))
        logged, _ = shown.show(attacked, 1300)
        check("the policy lets no other script run", shown.ask("document.title") != "ran" and logged,
              logged)
    finally:
        shown.close()
    tap.end()


main()
