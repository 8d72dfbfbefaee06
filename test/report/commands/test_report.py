#!/usr/bin/env python3
"""Tests `hotpin report`: its output for valid files, and its messages for invalid ones.
test_report.py HOTPIN
"""
import copy
import json
import os
import re
import resource
import subprocess

import made
import program
import tap
from tap import check, says, write


def good():
    write("first.json", made.first())
    write("third.json", made.third())
    check("few fields are enough", tap.run("report", write("few.json", {
        "schema": "hotpin.profile", "schema_version": "2.0", "process": {"program": "x"},
        "wall_ns": 5})).returncode == 0)
    says("a newer minor version is read", 0, "^  Host code", "report",
         write("newer.json", {**made.first(), "schema_version": "2.77", "new": [1, {"a": 2}]}))
    observed = made.first()
    observed["options"]["HOTPIN_HEAP_MIN"] = "0"
    observed["buffers"][0]["kind"] = "other"
    says("how --observe tells buffers apart", 0, "distinguish buffers of malloc\\(\\): hotpin run --observe=buffers",
         "report", "--all", write("observed.json", observed))
    uncopied = made.first()
    uncopied["buffers"][1]["h2d"] = made.total(0, 0, 0)
    says("buffers without copies are left out", 0, r"Allocated at\n.* GB .*\n\n", "report", "--all",
         write("uncopied.json", uncopied))
    for buffer in uncopied["buffers"]:
        buffer.update(h2d=made.total(0, 0, 0), d2h=made.total(0, 0, 0))
    done = tap.run("report", "--all", write("uncopied.json", uncopied))
    check("nor is a table of none shown", done.returncode == 0 and "HOST BUFFERS" not in done.stdout,
          done.stdout)
    folded = made.first()
    folded["sites_folded"] = 100
    folded["sites"][1]["folded"] = True
    says("what is folded is told", 0, r"D2H .*several\n? *callers\n(.*\n)*  100 copies of rare call "
         "stacks are summed up", "report", "--all", write("folded.json", folded))
    done = tap.run("report", "first.json", stdin=subprocess.DEVNULL)
    check("nothing on stderr, no progress where there is no terminal", done.stderr == "",
          done.stderr)
    says("from a pipe", 0, "1: one kernel", "report", "/dev/stdin", input=tap.text_of(tap.path("first.json")))


def fits():
    """No line is longer than the terminal, for any names; output to a file is text only."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    long = made.ported_next()
    long["kernels"] = [made.kernel(f"_ZN{len(name)}{name}1kEPf", 1, 9) for name in ("a" * 99, "b" * 300)]
    long["stage"], long["process"]["program"] = "label " * 20, "p" * 60
    long["warnings"] = ["word " * 30, "w" * 190]
    long["gaps"] = [{"before": {"call": "cuMemcpyDtoH_v2", "frames": [made.frame(1, 2)]},
                     "after": {"call": "cuMemcpyHtoD_v2", "frames": [made.frame(0, 2)]},
                     "count": 10 ** 9, "total_ns": 10 ** 12, "longest_ns": 10 ** 11}]
    ranks = [write(f"wide{i}.json", made.rank(i, 3)) for i in range(3)]
    for arguments in (["report", write("long.json", long)], ["report", "--all", "long.json"],
                      ["report", "third.json"], ["report", write("hostile.json", made.hostile())], ["report", *ranks]):
        for columns in (60, 80, 100):
            text = tap.run(*arguments, COLUMNS=columns).stdout
            check(f"{arguments} in {columns} columns", text and not tap.wider(text, columns),
                  "\n".join(tap.wider(text, columns)))
        text, status = tap.at_terminal(72, [tap.HOTPIN, *arguments], environment)
        check(f"{arguments} at a terminal", status == 0 and not tap.wider(
            re.sub("\x1b\\[[0-9]*[mK]", "", text), 72), text)
    check("nothing but text", "\x1b" not in tap.at_terminal(80, [tap.HOTPIN, "report", "first.json"], environment)[0])
    for locale, bar in (("C", "####"), ("de_DE.UTF-8", "\u2588" * 4)):
        text, _ = tap.at_terminal(80, [tap.HOTPIN, "report", "first.json"],
                                  {**environment, "LC_ALL": locale})
        check(f"characters in {locale}", bar in text and text.isascii() == (locale == "C"), text)


def host_code():
    says("threads that took turns", 0, "400 threads were sampled in\\s+turns, 256 at a time", "report", "--all",
         write("turns.json", made.sampled(in_turn=True, threads_most=400)))
    says("lost samples", 0, "10 samples are missing from this table", "report", "--all",
         write("lost.json", made.sampled(lost=7, dropped=3)))
    says("sampling that ended", 0, "Sampling ended: the program has taken the signal", "report", "--all",
         write("taken.json", made.sampled(why="the program has taken the signal")))
    refused = made.sampled(mode="perf", why="perf_event_paranoid is 3")
    refused["samples"] = None
    says("why there are none", 0, "^  Host code was not sampled: perf_event_paranoid is 3.$", "report", "--all",
         write("refused.json", refused))
    many = made.sampled()
    many["modules"] = [{"path": f"/nowhere/lib{i}.so", "build_id": None} for i in range(30)]
    many["samples"] = [{"frames": [made.frame(i, 0)], "first_thread": i + 1, "other_threads": 0}
                       for i in range(30)]
    says("all rows", 0, "lib29.so\n(.*\n){28}.*lib0.so\n", "report", "--all", write("many.json", many))
    many["samples"][3].update(first_thread=2 ** 63 - 1, other_threads=2 ** 63 - 1)
    many["samples"][4]["frames"] = []
    many["sampling"]["hz"] = 0
    says("absurd figures harm nobody", 0, "lib3.so", "report", "--all", write("absurd.json", many))


def gaps():
    profile = made.first()
    end = {"call": "cuMemcpyDtoH_v2", "frames": [made.frame(0, 16)]}
    some = {"count": 10, "total_ns": 20 * made.MILLI, "longest_ns": 3 * made.MILLI}
    profile["gaps"] = [{"before": end, "after": end, **some}]
    profile["gaps_short"] = {"count": 4000, "total_ns": 8 * made.MILLI, "longest_ns": 9000}
    profile["gaps_dropped"] = {"count": 0, "total_ns": 0, "longest_ns": 0}
    text = says("gaps without places are told", 0, r"^  8.00 ms .0.1 %. in 4 000 gaps of less than 10 us each.$",
                "report", "--all", write("gaps.json", profile)).stdout
    check("unless there are none", "beyond those listed" not in text, text)
    several = {**profile, "gaps": [{"before": end, "after": end, **some, "total_ns": 87 * made.SECOND}]}
    text = says("threads do not add up to more than the run", 0, r"^ +(- +)?87.0 s ", "report", "--all", write("several.json", several)).stdout
    check("nowhere", "72" not in text, text)
    several["repeats"] = {"hashed_copies": 0, "duplicates": made.total(0, 0, 0),
                          "ping_pong": made.total(0, 0, 0), "sites": []}
    text = tap.run("report", "--all", write("several.json", several)).stdout
    check("no table of zeros", "hashed" not in text, text)
    profile["gaps_dropped"] = some
    says("and those without room", 0, r"^  20.0 ms .0.2 %. in 10 gaps between rare pairs of calls.$",
         "report", "--all", write("gaps.json", profile))


def capture_range():
    profile = made.first()
    end = {"call": "cuMemcpyDtoH_v2", "frames": [made.frame(0, 16)]}
    some = {"count": 1, "total_ns": 2000 * made.MILLI, "longest_ns": 2000 * made.MILLI}
    profile["gaps"] = [{"before": None, "after": end, **some}, {"before": end, "after": None, **some}]
    profile["options"]["HOTPIN_CAPTURE"] = "nvtx:step"
    text = says("a gap begins with the capture range", 0, r"start of the capture range +heat", "report",
                "--all", write("range.json", profile)).stdout
    check("another ends with it", "of the process" not in text, text)
    check("the cost is that of the whole run", "Profiling the whole run cost" in text, text)
    never = "the capture range nvtx:step never began, so nothing was captured"
    profile.update(wall_ns=0, warnings=[never])
    text = says("a range that never began", 0, never, "report", write("never.json", profile)).stdout
    check("has no tables", "Host code" not in text and "Next" not in text, text)


def ranks():
    names = [write(f"rank{i}.json", made.rank(i, 3, slower=i * made.SECOND)) for i in range(3)]
    says("a missing rank is told", 0, "1 of the run's 3 ranks are missing", "report", *names[:2])
    launched = write("launcher.json", made.launcher())
    alone, together = tap.run("report", *names), tap.run("report", launched, *names)
    check("what launched them is left out, and told",
          together.stdout == alone.stdout and together.returncode == 0 and
          "launcher.json has no rank and used no device" in together.stderr, together.stderr)
    says("a launcher alone is a program", 0, "^torchrun ", "report", launched)
    says("what has no rank and did copy is no launcher", 4, "one of them has no rank", "report",
         write("serial.json", made.third()), *names)
    says("repeats are no ranks", 4, "they have no ranks; use `hotpin compare`", "report", "serial.json", "serial.json")
    says("the same rank twice", 4, "both are the same rank", "report", names[0], names[0])
    write("first.json", made.first())
    write("third.json", made.third())
    says("stages are no ranks", 4, "hotpin compare", "report", "first.json", "third.json")
    says("unless forced", 0, "^ALL RANKS TOGETHER", "report", "--all", "--force", "first.json",
         "third.json")
    other = made.rank(1, 3)
    other["process"]["program"] = "other"
    says("another program", 4, "programs differ", "report", names[0], write("other.json", other))
    lossy = {**made.rank(1, 3), "split": None, "split_why": made.LOSS}
    merged = tap.run("report", "--all", names[0], write("lossy1.json", lossy)).stdout
    check("a rank without a split leaves none for all, and why",
          "Host code" not in merged.split("ALL RANKS TOGETHER")[1] and
          made.LOSS.partition(": ")[0] in " ".join(merged.split("ALL RANKS TOGETHER")[1].split()), merged)
    newer = made.rank(1, 3)
    newer["counters"]["fallbacks"] = 7
    merged = tap.run("report", "--all", names[0], write("newer1.json", newer)).stdout
    check("a counter that the first rank lacks is in the sum", re.search("^ +7  fallbacks$", merged, re.M), merged)
    # All ranks except one have device times: the sum must not be shown as that of all.
    blind = made.without_device()
    blind["process"].update(rank="2", ranks=3)
    done = tap.run("report", "--all", names[0], names[1], write("blind.json", blind))
    merged = done.stdout.split("ALL RANKS TOGETHER")[1]
    check("a rank without device times leaves none for all",
          "The wall time is not split" in merged and "Longest" not in merged and
          "COPIES (time in the calls)" in merged and
          re.search("6 +[0-9.]+ ms +9.00 GB .* H2D promoted$", merged, re.M), merged)


def one_file_of_many_ranks():
    """64 ranks ran the same program: its names are read once."""
    heat, names = os.path.join(tap.FOLDER.name, "heat"), []
    write("heat", program.elf({"main": 0x3000}, {offset: ["/src/heat.c:7"] for offset in (0x401f, 0x40ff)}))
    for i in range(64):
        rank = made.rank(i, 64)
        rank["process"]["ended_utc"] = None
        rank["modules"][0] = {"path": heat, "build_id": None}
        rank["sites"], rank["buffers"] = made.first()["sites"], []
        names.append(write(f"same{i}.json", rank))
    once, of_all = (tap.opens(heat, lambda some=some: tap.run("report", *some)) for some in (names[:1], names))
    check("a file of 64 ranks is opened once", once == of_all == [""], once, of_all)
    done = tap.run("report", "--csv", "sites", *names)
    lines = done.stdout.splitlines()
    check("every rank has the answers", done.returncode == 0 and len(lines) == 1 + 2 * 64 and
          all("heat.c" in line for line in lines[1:]), done.stderr, lines[:3])


def wrong_type(path, value):
    spoilt = made.first()
    at = spoilt
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return spoilt


def refused():
    text = json.dumps(made.first())
    for name, content, pattern in (
            ("empty", "", "it is empty"),
            ("cut", text[:len(text) // 2], "cut off"),
            ("cut in a text", text[:text.index("one kernel") + 3], "cut off|not JSON"),
            ("no json", "<html></html>", "not JSON: line 1"),
            ("binary", bytes(range(256)) * 8, "not JSON"),
            ("not utf-8", text.replace("heat", "he\udcfft").encode("utf-8", "surrogateescape"),
             "not JSON"),
            ("two values", text + text, "not JSON|end of file"),
            ("a key twice", text[:-1] + ', "wall_ns": 7}', "duplicate"),
            ("deep", "[" * 100000 + "]" * 100000, "not JSON.*depth"),
            ("deep in a field", text[:-1] + ', "x": ' + "[" * 5000 + "]" * 5000 + "}", "depth"),
            ("number too large", text.replace('"wall_ns": 12000000000', '"wall_ns": 1' + "0" * 400),
             "not JSON.*too (big|large)|overflow"),
            ("zero byte", text.replace("heat", "he\\u0000at"), "not JSON"),
            ("other schema", json.dumps({"schema": "hotpin.options"}), "not a hotpin profile"),
            ("a list", "[1, 2]", "not a hotpin profile"),
            ("a number", "5", "not a hotpin profile|not JSON"),
            ("newer", {**made.first(), "schema_version": "3.0"}, r"format is 3\.0, but this"),
            ("older", {**made.first(), "schema_version": "1.1"}, r"format is 1\.1, but this"),
            ("no wall time", {k: v for k, v in made.first().items() if k != "wall_ns"}, "wall_ns")):
        done = says(f"refused: {name}", 1, "^hotpin: cannot read bad.json: .*(" + pattern + ")",
                    "report", write("bad.json", content))
        check(f"{name}: one line, no figures", done.stdout == "" and done.stderr.count("\n") == 1,
              done.stdout, done.stderr)
    for path, value in ((("wall_ns",), "5"), (("wall_ns",), -5), (("wall_ns",), 1e300),
                        (("split",), []), (("split", "host_ns"), {}), (("transfers",), {}),
                        (("transfers", 0), 7), (("transfers", 0, "bytes"), "many"),
                        (("transfers", 1, "memory"), None), (("kernels", 0, "name"), 5),
                        (("sites", 0, "frames", 0, "module"), 2),
                        (("sites", 0, "frames", 0, "module"), 9_000_000_000),
                        (("activity", "bins", 0, 0), 2 ** 63 - 1),
                        (("repeats", "sites", 0, "site"), 2), (("truncated",), 1),
                        (("counters", "pins"), "x"), (("buffers", 0, "kind"), None),
                        (("sites", 0, "python"), 3), (("sites", 0, "python"), ["a"]),
                        (("sites", 0, "python"), [{"file": "a", "function": "b"}]),
                        (("sites", 0, "python"), [{"file": "a", "function": "b", "line": -1}]),
                        (("calls", 0, "name"), None)):
        says(f"refused: {'.'.join(map(str, path))} is {value!r}", 1,
             "^hotpin: cannot read bad.json: ", "report", write("bad.json", wrong_type(path, value)))
    write("long.json", text[:-1] + f', "x": "{"x" * (50 << 20)}"}}')
    for mib in () if tap.is_sanitized() else (40, 50):
        bound = (mib << 20, mib << 20)
        for command in "report", "compare":
            says(f"{command} in {mib} MiB", 1, "not enough memory for the profile",
                 command, "long.json", "long.json",
                 preexec_fn=lambda bound=bound: resource.setrlimit(resource.RLIMIT_AS, bound))
    says("no such file", 1, "cannot read nothing.json: No such file", "report", "nothing.json")
    says("a folder", 1, "cannot read .*: Is a directory", "report", ".")
    says("a device", 1, "it is larger than 256 MiB", "report", "/dev/zero")
    os.symlink("/nowhere", os.path.join(tap.FOLDER.name, "link"))
    says("a link to nothing", 1, "No such file", "report", "link")
    os.symlink("link2", os.path.join(tap.FOLDER.name, "link2"))
    says("a link to itself", 1, "symbolic links", "report", "link2")
    says("one bad of two", 1, "cannot read nothing.json", "report", "first.json", "nothing.json")


def extreme():
    huge = made.first()
    most = (1 << 63) - 1

    def largest(value):
        if isinstance(value, dict):
            return {key: largest(part) for key, part in value.items() if key != "module"}
        if isinstance(value, list):
            return [largest(part) for part in value]
        return most if isinstance(value, int) and not isinstance(value, bool) else value

    for name in ("split", "host", "transfers", "kernels", "kernel_runs", "memsets", "buffers",
                 "what_if", "effect", "counters", "records", "overhead", "coverage", "promotion",
                 "wall_ns"):
        huge[name] = largest(huge[name])
    huge["environment"].update(peak_h2d_bytes_per_s=most, peak_d2h_bytes_per_s=most)
    huge["process"].update(rank="1", pid=most)
    other = copy.deepcopy(huge)
    other["process"]["rank"] = "2"
    says("figures of 2^63-1", 0, "^  Host code", "report", "--all", write("huge.json", huge))
    says("and their sums", 0, "^ALL RANKS", "report", "--all", "huge.json", write("other.json", other))
    nothing = made.first()
    for name in list(nothing):
        if name not in ("schema", "schema_version", "wall_ns", "process"):
            nothing[name] = None
    says("all null", 0, "wall time is not split", "report", "--all", write("null.json", nothing))
    many = made.first()
    many["kernels"] = [made.kernel(f"_ZN3abc{len(str(i)) + 1}k{i}EPf", 1, i) for i in range(20000)]
    many["transfers"][0]["sizes"] = [{"from_bytes": i, "count": 1, "bytes": 1, "busy_ns": 1}
                                     for i in range(3000)]
    says("20 000 kernels", 0, "abc::k19999.float", "report", "--all", write("many.json", many))
    few = made.first()
    few["kernel_runs"]["count"] = 1 << 60
    few["transfers"] = [{**few["transfers"][0], "count": (1 << 60) - 1, "sizes": [
        {"from_bytes": 4096, "count": (1 << 60) - 1, "bytes": 1, "busy_ns": 1}]}]
    says("nearly a copy for each of 2^60 kernel runs", 0, r"^  0\.9 copies for each kernel run", "report", "--all",
         write("few.json", few))
    zero = made.first()
    zero["wall_ns"] = 0
    zero["split"] = dict.fromkeys(zero["split"], 0)
    says("no time at all", 0, "  0 ns", "report", write("zero.json", zero))


def symbols():
    """Names of functions, from a file that may be another one than ran."""
    solver = tap.path(write("solver", program.elf({"solve": 0x1000}, {0x1010: ["/src/a.c:7"]})))

    def at(place, build, ended=program.LATER):
        placed = made.first()
        placed["modules"] = [{"path": "/usr/lib/libcudart.so.13", "build_id": None},
                             {"path": place, "build_id": build}]
        placed["process"]["ended_utc"] = ended
        placed["sites"][0]["frames"] = [made.frame(0, 0x77), made.frame(1, 0x1011)]
        placed["sites"][1]["frames"] = [made.frame(1, 5)]
        placed["buffers"], placed["repeats"] = [], None
        return write("placed.json", placed)

    says("a function by its address, past CUDA's runtime", 0, " 2.90 s .*  solve at a.c:7$", "report", "--all", at(solver, None))
    says("not of a file that is younger than the run", 0, " 2.90 s .*  solver[+]0x", "report", "--all",
         at(solver, None, "20010101-000000"))
    says("of this build, whenever it ran", 0, " 2.90 s .*  solve at a.c:7$", "report", "--all",
         at(solver, program.build_id({"solve": 0x1000}), "20010101-000000"))
    another = at(solver, "00" * 20)
    says("not of another build", 0, " 2.90 s .*  solver[+]0x", "report", "--all", another)
    says("and it says so", 0, r"note: /.*(\n.*)? differs from\s+the\s+file\s+that\s+was\s+profiled", "report", another)
    says("the page, too", 0, "/.* differs from the file that was profiled", "html", another)
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    if os.path.exists(libc):
        done = tap.run("report", at(libc, "00" * 20))
        check("not of libc, which nobody misses", "differs" not in done.stdout and
              "not on this" not in done.stdout, done.stdout)
    says("a program that is not there is told", 0, r"^note: /nowhere/heat is not on this\s+machine, so its",
         "report", "first.json")


def harmless():
    done = says("hostile names", 0, "^  Host code", "report", "--all", "hostile.json")
    check("no escape reaches the terminal", tap.no_control(done.stdout + done.stderr),
          repr(done.stdout))
    spoilt = made.hostile()
    spoilt["counters"] = {made.HOSTILE: "x"}
    done = says("hostile key in a message", 1, "cannot read", "report",
                write("spoilt.json", spoilt))
    check("nor in a message", tap.no_control(done.stderr), repr(done.stderr))
    name = "\x1b[31mred.json"
    done = tap.run("report", name)
    check("nor from a name of a file", tap.no_control(done.stderr), repr(done.stderr))
    # Characters of four bytes: none may be cut in the middle.
    wide = {**made.hostile("\U0001f680" * 500), "modules": made.first()["modules"]}
    for row in wide["transfers"] + wide["sites"][0]["rows"]:
        row["memory"] = row["direction"] = "\U0001f680" * 500
    write("wide.json", wide)
    for command in (("report", "--all"), ("html",), ("trace",), ("report", "--csv", "summary"),
                    ("compare", "--force", "first.json")):
        done = tap.run(*command, "wide.json")
        text = done.stdout + done.stderr
        check(f"{command[0]} keeps characters whole", done.returncode in (0, 1, 3) and
              not re.search(r"[\udc80-\udcff]|\\xf0|\\x9f|\"name\":\"\?\"", text),
              done.returncode, ascii(text[:3000]))
    # A few bytes that expand to gigabytes: f(pair<..>) of pairs of pairs.
    bomb = "_Z1fI1aE" + "".join(f"S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i]}_" for i in range(9))
    bombs = made.first()
    deep = "_Z1f" + "P" * 8000 + "i"
    nested = "_Z1f" + "1aI" * 2000 + "i" + "E" * 2000
    types, last = "_Z1fI1aIiiEE", "T_"
    for i in range(40):
        types, last = types, f"St4pairI{last}S{'_' if i == 0 else str(min(i, 9)) + '_'}E"
    bombs["kernels"] = [made.kernel(name, 1, 9) for name in
                        (bomb, deep, nested, types + "v" + last, "_Z" * 3000, made.STEP)]
    done = says("names made to exhaust the demangler", 0, r"heat_step\(float const\*", "report",
                "--all", write("bombs.json", bombs))
    if "TEST_DEMANGLER" not in os.environ:
        return
    # The demangler of this test ends at one name.
    ends = {**made.first(), "kernels": [made.kernel(name, 1, 9) for name in ("_Z3endv", "_Z4lostv")]}
    next_one = {**made.first(), "stage": "2: next", "kernels": [made.kernel("_Z5foundv", 1, 9)]}
    done = tap.run("html", write("ends.json", ends), write("next.json", next_one),
                   also={"LD_LIBRARY_PATH": os.path.dirname(os.environ["TEST_DEMANGLER"])})
    check("a name that ends the demangler loses no other profile's", done.returncode == 0 and
          set(re.findall(r">(_Z\w+|readable)<", done.stdout)) == {"_Z3endv", "_Z4lostv", "readable"}, done.stdout)


def fuzzed():
    """Files with bytes changed, removed or doubled are at worst refused."""
    bad = []
    for turn, text in enumerate(tap.spoilt(200, json.dumps(made.first()).encode(), json.dumps(made.hostile()).encode())):
        write("fuzzed.json", text)
        done = tap.run("report", "--all", "fuzzed.json")
        if done.returncode not in (0, 1) or not tap.no_control(done.stdout + done.stderr):
            bad.append((turn, done.returncode, done.stderr[-500:]))
    check("200 spoilt files", not bad, bad)


def nothing_is_not_told():
    """Events that did not occur, and figures that were not measured, are not printed."""
    profile = made.third()
    profile["effect"].update(pins=1, unpins=0, spent_ns=None, saved_ns=2 * made.SECOND,
                             deferred_copies=3, waits_removed=0, ahead_ns=0)
    write("did.json", profile)
    for way in (("report", "--all"), ("html", "-o", "did.html")):
        text = tap.run(*way, "did.json").stdout
        if way[0] == "html":
            text = tap.text_of(tap.path("did.html"))
        check(f"{way[0]}: what hotpin did, without zeros", re.search(
            r"Deferred 3 copies\..*\n.*Pinned 1 time; that saved about 2\.00 s\.", text), text[:6000])
    text = tap.run("report", "--all", "did.json").stdout
    check("no zeros in the report", not re.search(
        r"\b0 ns\b|\b0 (dropped|incomplete|untimed)| n/a[ ,.]", text.split("NVTX")[0]), text)


def of_the_machine():
    """Findings and options, on a terminal and for scripts."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    text, _ = tap.at_terminal(60, [tap.HOTPIN, "env"], environment)
    check("options fit the terminal", "HOTPIN_RING=32M\n    size of the" in text and
          not tap.wider(text, 60), tap.wider(text, 60))
    text, _ = tap.at_terminal(44, [tap.HOTPIN, "doctor"], environment)
    check("findings, too", re.search(r"^(ok|limits|no) .*\n {22}\S", text, re.M), text)
    lines = tap.run("doctor").stdout.splitlines()
    check("but each is a line for scripts",
          all(re.match("(ok|limits|no) |hotpin |A program ", line) for line in lines), lines)


def main():
    good()
    fits()
    host_code()
    gaps()
    capture_range()
    ranks()
    one_file_of_many_ranks()
    symbols()
    refused()
    extreme()
    harmless()
    fuzzed()
    nothing_is_not_told()
    of_the_machine()
    tap.end()


main()
