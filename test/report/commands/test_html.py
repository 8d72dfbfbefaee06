#!/usr/bin/env python3
"""Tests `hotpin html`: a well-formed page that requests nothing and runs no unknown script.
test_html.py HOTPIN
"""
import os
import pty
import re
import resource
import subprocess
import xml.etree.ElementTree

import made
import program
import sources
import tap
from tap import check, says, write

TAGS = set("""html head meta title style body main h1 h2 h3 p a ul li div table thead tbody tr th td
svg rect circle path text figure figcaption details summary section footer header nav span b small ol
dl dt dd h4 script foreignObject""".split())
ATTRIBUTES = set("""lang charset http-equiv content name class id href scope role aria-label
aria-hidden viewBox preserveAspectRatio x y cx cy r width height d fill fill-opacity
stroke-width text-anchor aria-labelledby tabindex type title open data-n""".split())

SCRIPTS = 1


def faults(page):
    """Returns elements that a page must not have."""
    if not tap.no_control(page):
        yield "control characters"
    if "default-src 'none'" not in page:
        yield "no policy"
    for script in re.findall(r"<script[^>]*>", page):
        if script != "<script>":
            yield script
    for word in ("@import", "url(", "javascript:", "//"):
        if word in re.sub('xmlns="[^"]*"|content="default-src[^"]*"', "", page, count=2):
            yield word
    try:
        tree = xml.etree.ElementTree.fromstring(page.encode())
    except xml.etree.ElementTree.ParseError as error:
        yield f"not well-formed: {error}"
        return
    names = [element.get("id") for element in tree.iter() if element.get("id")]
    if len(names) != len(set(names)):
        yield "an id twice"
    for element in tree.iter():
        tag = element.tag.replace("{http://www.w3.org/1999/xhtml}", "")
        if tag not in TAGS:
            yield f"<{tag}>"
        for name, value in element.attrib.items():
            if name not in ATTRIBUTES:
                yield f"{tag} {name}={value}"
            if name == "href" and value[1:] not in names:
                yield f"a link to {value}"
        if tag == "rect" and float(element.get("width", 0)) < 0:
            yield "a rectangle of negative width"
        if tag == "tr":
            cells = len(list(element))
            if cells < 2:
                yield "a row without cells"


def page_of(name, *profiles):
    done = tap.run("html", *[write(f"{i}.json", profile) for i, profile in enumerate(profiles)])
    found = list(faults(done.stdout))
    check(f"{name}: a sound page", done.returncode == 0 and done.stderr == "" and not found,
          done.stderr, "\n".join(found[:9]))
    return done.stdout


def bare(page):
    """Returns the page without style, scripts and data."""
    return re.sub(r"<(style|script)[ >].*?</\1>", "", page, flags=re.S)


def text_of(page):
    page = bare(page)
    return " ".join("".join(xml.etree.ElementTree.fromstring(page.encode()).itertext()).split())


def pages():
    for name in ("second", "third", "without_device", "lossy", "sampled", "unsampled", "launcher", "full"):
        page_of(name, getattr(made, name)())
    page_of("several stages", made.first(), made.second(), made.third())
    page_of("a timeline", made.looped(4))
    page = page_of("one run", made.first())
    bars = re.findall(r'<rect class="(\w+)" width="(\d+)"', page[page.index("<section"):])[:5]
    check("a bar for each state, of all the time", [(kind, int(width)) for kind, width in bars] ==
          [("host", 4840), ("startup", 170), ("calls", 830), ("transfer", 3330), ("kernel", 830)], bars)
    column = re.findall(r'<rect class="(\w+)" x="12.0" width="76.0" y="([^"]+)" height="([^"]+)"',
                        page_of("stages", made.first(), made.third()))[:5]
    ends = [(kind, float(top), float(top) + float(tall)) for kind, top, tall in column]
    check("the states of a stage are stacked from the bottom to the longest wall time",
          [kind for kind, _, _ in ends] == ["host", "startup", "calls", "transfer", "kernel"] and
          all(abs(end - at) < 0.2 for (_, _, end), at in zip(ends, [240] + [top for _, top, _ in ends])) and
          abs(ends[4][1] - 12) < 0.2, ends)
    bins = made.first()["activity"]["bins"]
    strip = page[page.index('<svg class="strip"'):]
    strip = strip[:strip.index("</svg>")]
    check("the strip has a path for each state, and as many columns as there are bins",
          f'viewBox="0 0 {len(bins)} 1000"' in strip and strip.count("<path") == 6 and
          strip.count("h1v1000h-1z") == sum(256 * made.MILLI in row for row in bins) > 40,
          strip[:400])
    kinds = made.first()
    row = next(row for row in kinds["transfers"] if row["view"] == "cupti" and row["sizes"])
    kinds["transfers"] = [{**row, "memory": memory} for memory in ("pageable", "pinned")]
    points = re.findall(r'<circle class="([^"]+)"', page_of("two kinds of memory", kinds).split(
        'aria-label="GB/s by call site')[0])
    check("pageable copies are open points, others are not", points == [
        way + row["direction"] for way in ("open ", "") for _ in row["sizes"]], points)
    copies()
    stages()
    gone = made.first()
    gone["modules"][0]["path"] = os.path.join(tap.FOLDER.name, "heat")
    check("what was profiled may not be here", f"known: {gone['modules'][0]['path']}, which was profiled, is not "
          "on this machine" in text_of(page_of("no program", gone)))
    write("heat", program.elf({"main": 0x2000}))
    check("or be another", "heat differs from the file that was profiled" in text_of(
        page_of("another program", gone)))
    os.remove(gone["modules"][0]["path"])
    nothing = {name: None for name in made.first()}
    nothing.update(schema="hotpin.profile", schema_version="2.0", wall_ns=0,
                   process={"program": ""})
    page_of("all null", nothing)


def copies():
    """10 of 50 GB/s is a fifth of 162 units, above 176."""
    page = page_of("where data crosses", made.ported_next())
    points = re.findall(r'<circle class="([^"]+)"[^>]* cy="([^"]+)"[^>]*><title>([^<]+)', page)
    check("a point for each size of each kind", points == [
        ("open h2d", "143.6", "H2D pageable from 4 KiB: 100 copies, 10.0 GB/s"),
        ("open h2d", "143.6", "H2D pageable from 64 MiB: 100 copies, 10.0 GB/s"),
        ("open d2h", "143.6", "D2H pageable from 128 MiB: 100 copies, 10.0 GB/s")], points)


def stages():
    other = made.second()
    other["environment"]["device"] = "Another GPU"
    page = page_of("two devices", made.first(), other)
    check("why stages are not comparable", re.search(
        '<p class="note">[^<]* are not comparable: Another GPU is not Example GPU</p>', page), page)
    apart = [made.rank(0, 2), made.rank(1, 2), made.rank(1, 2)]
    says("neither repeats nor ranks", 1, "not ranks of one run: both are the same rank", "html",
         *[write(f"apart{i}.json", rank) for i, rank in enumerate(apart)])
    done = made.third()
    done["split"] = made.states(200 * made.MILLI, 0, 2 * made.SECOND, 0, 0, 800 * made.MILLI)
    done.update(what_if=[], sites=[], buffers=[])
    text = text_of(page_of("a finished port", done))
    check("a finished port has nothing to port", "This port is done" in text and
          "port next" not in text and "next to port" not in text, text)


def hostile():
    attack = made.hostile()
    for buffer in attack["buffers"]:
        buffer.update(round_trips=made.trips(99, 15 * made.GB, 3 * made.SECOND, 5 * made.SECOND), follows=made.trips(0, 0, 0, 0))
    page = page_of("hostile names", attack, attack)
    check("the headline leaves out a long place",
          "First: port all code between copies, which saves at most" in text_of(page), text_of(page)[:900])
    check("they are shown, not obeyed", "<script>alert(1)</script>" in text_of(page) and
          "\\x1b[31m" in page and page.count("<script>") == SCRIPTS and
          "<script>alert" not in page and "<img" not in page)
    odd = made.first()
    odd["stage"] = "\uffff \ufffe \x7f \x85 \u2028 \U0010ffff 日本 é"
    page_of("odd characters", odd)
    huge = made.first()
    most = (1 << 63) - 1
    for row in huge["transfers"]:
        row["sizes"] = [{"from_bytes": 1 << i, "count": most, "bytes": most, "busy_ns": most}
                        for i in range(63)]
    huge["split"] = dict.fromkeys(huge["split"], most)
    huge["environment"].update(peak_h2d_bytes_per_s=most, peak_d2h_bytes_per_s=1)
    for bound in huge["what_if"]:
        bound.update(wall_ns=most)
    page_of("huge figures", huge)
    many = made.first()
    many["kernels"] = [made.kernel(f"k{i}", 1, i + 1) for i in range(5000)]
    page = page_of("many kernels", many)
    check("a page stays small", len(page) < 200_000 and "and 4800 more in the JSON" in page)


def source():
    """Sources that are in other folders than when they were compiled."""
    os.makedirs(os.path.join(tap.FOLDER.name, "here/far/solver"))
    write("here/far/solver/io.c", "one;\n" * 6 + "seven;\n")
    name = write("run.json", sources.profile())
    sources.prepare()
    page = tap.run("html", "--source", "here", name).stdout
    check("a folder of sources", not list(faults(page)) and "seven;" in text_of(page) and
          "read from here/far/solver/io.c" in text_of(page), text_of(page))
    page = tap.run("html", name).stdout
    check("without it the lines are there, but not their text", "seven;" not in text_of(page) and
          'id="line-1-7"' in page and "--source DIR looks in DIR, too" in text_of(page), text_of(page))
    check("no time of kernels where none is known", '<th scope="col">kernels</th>' not in page)
    launch = {"frames": [made.frame(0, sources.MAIN + 0x11)], "count": 40, "host_ns": 5, "kernels": 40,
              "device_ns": 2 * made.SECOND, "estimated_ns": made.SECOND}
    run = sources.profile(launches=[launch], launches_rest={"kernels": 3, "device_ns": made.MILLI})
    page = tap.run("html", write("launches.json", run)).stdout
    check("kernels by line, and those of none", not list(faults(page)) and re.search(
        r"<td[^>]*>40</td><td[^>]*>~2.00 s</td><td[^>]*>[^<]*</td><td[^>]*>40</td>", page) and
          "Launched from no known place: 3 kernels, 1.00 ms." in text_of(page), text_of(page))


WRITERS = (("html",), ("trace",), ("report", "--csv", "summary"), ("report", "--folded"))


def files():
    """What every command that writes a file does if it cannot."""
    write("full.json", made.full())
    write("cut.json", "{")
    for words in WRITERS:
        name = " ".join(words)
        says(f"{name} into a folder", 1, "cannot write .: Is a directory", *words, "-o", ".", "full.json")
        says(f"{name} into no folder: what cannot be written is not read", 1,
             "^hotpin: cannot write no/x: No such file[^\\n]*\\n$", *words, "-o", "no/x", "nothing.json")
        tap.run(*words, "-o", "page.out", "full.json")
        before = sorted(os.listdir(tap.FOLDER.name)), os.stat(os.path.join(tap.FOLDER.name, "page.out")).st_mtime_ns
        for bad in "nothing.json", "cut.json":
            says(f"{name}: {bad} cannot be read", 1, f"cannot read {bad}", *words, "-o", "page.out", "full.json", bad)
            says(f"{name}: {bad} alone", 1, f"cannot read {bad}", *words, "-o", "new.out", bad)
        check(f"{name}: no file is left of it, and the old one is as it was", before == (
            sorted(os.listdir(tap.FOLDER.name)), os.stat(os.path.join(tap.FOLDER.name, "page.out")).st_mtime_ns))
        says(f"{name} onto a full disk", 1, "cannot write /dev/full: No space", *words, "-o", "/dev/full", "full.json")
        says(f"{name} not over what it reads", 1, "full.json is also read, so it cannot be written", *words, "-o",
             os.path.join("..", os.path.basename(tap.FOLDER.name), "full.json"), "full.json")
        check(f"{name}: which stays", tap.run("report", "full.json").returncode == 0)
        done = tap.run(*words, "-o", "limited.out", "full.json",
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12, 12)))
        check(f"{name}: a limit of file sizes is an error, and no end by a signal",
              done.returncode == 1 and "limited.out: File too large" in done.stderr, done.returncode, done.stderr)


def targets():
    write("first.json", made.first())
    path = os.path.join(tap.FOLDER.name, "page.html")
    check("into a file", tap.run("html", "-o", "page.html", "first.json").stdout == "" and
          not list(faults(open(path, encoding="utf-8").read())))
    os.umask(0o027)
    tap.run("html", "-o", "page2.html", "first.json")
    check("with the rights that a new file has",
          os.stat(os.path.join(tap.FOLDER.name, "page2.html")).st_mode & 0o777 == 0o640)
    check("nothing else is left", not [name for name in os.listdir(tap.FOLDER.name)
                                       if name.startswith(("page", "limited")) and "." in name[:-5]],
          os.listdir(tap.FOLDER.name))
    screen, end = pty.openpty()
    done = subprocess.run(
        [tap.HOTPIN, "html", "first.json"], cwd=tap.FOLDER.name, stdin=subprocess.DEVNULL,
        stdout=end, stderr=subprocess.PIPE, text=True, check=False)
    os.close(end)
    os.close(screen)
    check("no page on a terminal", done.returncode == 2 and "name a file with -o" in done.stderr,
          done.stderr)


def main():
    pages()
    hostile()
    source()
    files()
    targets()
    tap.end()


main()
