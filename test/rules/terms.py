#!/usr/bin/env python3
"""Refuses words that have a standard term, British spellings and archaic words.

    terms.py ROOT             checks names, comments, messages and pages
    terms.py ROOT PATH...     checks these files only

The house style uses the terms of CUDA and Linux and American spelling.  The table below holds the words
that a search can find.  An underscore separates words, so parts of names count too.
"""
import os
import re
import sys

# (pattern of a word or phrase, what to write)
TERMS = [
    # private terms
    (r"by hand|hand-?made", "hand-tuned, manually"),
    (r"cop(y|ies|ied|ying) (up|down)(?! to\b)|cop(y|ies|ied) back", "upload, download"),
    (r"comes? back|came back|coming back", "return, complete"),
    (r"crews?", "copy workers, threads"),
    (r"device's (own )?work", "work on the GPU"),
    (r"handed over|hands? over|handing over", "pass"),
    (r"how ?many-?th", "sequence number"),
    (r"lanes?", "stream, track"),
    (r"lapses?|lapsed", "expiry"),
    (r"ledgers?", "table; deferred-copy tracker"),
    (r"lessons?", "mmap threshold"),
    (r"ousts?|ousted|ousting", "evict"),
    (r"owe[ds]?|rents?", "balance, copy cost"),
    (r"past us", "untracked"),
    (r"pockets?", "small-copy slot"),
    (r"processors?", "CPU, host code"),
    (r"promoted (blocks?|buffers?|sources?)", "pinned block"),
    (r"seasons?", "pin account"),
    (r"seats?", "slot"),
    (r"sights?", "visibility"),
    (r"stagger\w*", "address coloring"),
    (r"(cop(y|ies)|transfers?) under (a )?kernels?", "transfers that kernels overlap"),
    (r"under way", "in flight, in progress"),
    (r"victims?", "eviction candidate"),
    (r"wish(es)?", "request"),
    # archaic words
    (r"anew", "again"),
    (r"beside", "next to, in addition to"),
    (r"but for", "except"),
    (r"hence|thence|whence", "from here, from there, from where"),
    (r"hitherto|henceforth", "until now, from now on"),
    (r"lest", "so that ... not"),
    (r"naught|nought", "nothing, zero"),
    (r"of one's own", "own"),
    (r"till|unto|upon", "until, to, on"),
    (r"whatever|whichever", "any, each"),
    (r"whoever|whomever", "a program that"),
    (r"where(by|in|of|upon)|there(in|of)", "by which, in which"),
    # British spellings
    (r"(an|cat)alog(ue|ues)|dialogues?", "-og"),
    (r"(behavi|col|fav|flav|harb|hon|hum|lab|neighb|rum|vap)our\w*", "-or"),
    (r"(cancel|label|level|model|signal|total|travel|channel)l(ed|ing|er)s?", "one l"),
    (r"(cent|lit|met|fib)res?", "-er"),
    (r"(de|of)fences?|licen[c]es?", "defense, license"),
    (r"(analy|paraly)s(e|ed|es|ing)", "-yze"),
    (r"(?=[a-z]+is[eia])(?!\w*(?:noise|advis|rais|promis|wise|exercis|surpris|ris[ei]|precise|concise|guise|revis"
     r"|supervis|compris|premise|poise|improvis|expertise))[a-z]+is(?:e[ds]?|ing|ations?)", "-ize, -ization"),
    (r"grey|programmes?|whilst|amongst|learnt|spelt|burnt|dreamt", "American spelling"),
]
SUFFIXES = (".c", ".h", ".S", ".cu", ".cc", ".def", ".py", ".sh", ".md", ".map", ".build", ".txt", ".css", ".js",
            ".bash", ".ini", ".pml")
TOPS = ("src", "include", "tools", "test", "doc", "packaging", "debian")
# This table, and text that others wrote or that was released.
EXEMPT = ("test/rules/terms.py", "debian/changelog")
ALL = re.compile("(?<![a-z])(?:" + "|".join(
    "(?P<t%d>%s)" % (i, pattern.replace(" ", r"[\s_*#]+"))
    for i, (pattern, _) in enumerate(TERMS)) + ")(?![a-z])")


def files():
    yield from ("README.md", "CHANGELOG.md", "meson.build", "meson_options.txt")
    for top in TOPS:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    script = file.read(2) == b"#!"
                if name.endswith(SUFFIXES) or script:
                    yield path


def main():
    os.chdir(sys.argv[1])
    failed = looked = 0
    for path in sys.argv[2:] or sorted(files()):
        if path in EXEMPT:
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read().lower()
        looked += 1
        for found in ALL.finditer(text):
            use = TERMS[int(found.lastgroup[1:])][1]
            line = text.count("\n", 0, found.start()) + 1
            print("%s:%d: %s; write: %s" % (path, line, " ".join(found[0].split()), use))
            failed = 1
    # If no file was found, nothing was checked.
    return failed or looked == 0


if __name__ == "__main__":
    sys.exit(main())
