#!/usr/bin/env python3
"""Runs every command that a page shows, and compares the output that it shows with what is printed.

    pages.py HOTPIN ROOT [STAND-IN APP]            without STAND-IN and APP, quotations of profiles only
    pages.py HOTPIN ROOT STAND-IN APP --write      brings the quotations up to date

Every block of code in README.md, doc/*.md and test/standin/README.md stands between a marker and `<!-- end -->`:

    <!-- run -->              commands; they are run in a scratch folder, where ./app is a program
    <!-- hotpin WORDS -->     lines that this command prints; lines may be left out, their order stays
    <!-- file: NAME -->       a file that later commands of the page read
    <!-- test/PATH -->        commands that this test runs; it names the first word of each
    <!-- example: REASON -->  not run, because of REASON
    <!-- picture -->          no code

In the scratch folder are the profiles of doc/porting, doc/porting itself and test/standin.  Wherever a page
names a command of hotpin, the command and its flags must be those of its --help.
"""
import difflib
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

WRITE = "--write" in sys.argv
HOTPIN, ROOT, *REST = (os.path.abspath(word) for word in sys.argv[1:] if word != "--write")
STANDIN, APP = REST if REST else (None, None)
SLOWNESS = int(os.environ.get("TEST_SLOWNESS", "1"))
BLOCK = re.compile(r"^<!-- (.*?) -->\n(.*?)^<!-- end -->$", re.S | re.M)
# A paragraph of indented lines, or a fence.
CODE = re.compile(r"(?:\A|\n\n)((?:    [^\n]*\n|\n(?=    ))+)|^(```.*?^```)$", re.S | re.M)
# Programs after `hotpin run`: later flags are theirs.
PROGRAMS = re.compile(r"\./|/|python|mpirun|srun|sbatch|torchrun|jupyter|sh$|cat$|true$|PROGRAM|\.\.|--$")
# Turns the statuses for "slower" and "not comparable" into success, because times here are not
# real.
PRELUDE = """
set -eu
trap 'echo "failed: $BASH_COMMAND"' ERR
hotpin() {
    local status=0
    command hotpin "$@" || status=$?
    case $1.$status in compare.[34] | bench.[34]) status=0 ;; esac
    return $status
}
"""
wrong = []


def unindented(block):
    lines = [line for line in block.splitlines() if not line.startswith("```")]
    return [re.sub("^    ", "", line) for line in lines]


class Scratch:
    """A folder in which the commands of one page are run."""

    def __init__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = os.path.realpath(self.temporary.name)
        profiles = os.path.join(self.folder, "doc", "porting")
        shutil.copytree(os.path.join(ROOT, "doc", "porting"), profiles)
        for path in glob.glob(os.path.join(profiles, "*.json")):
            shutil.copy(path, self.folder)
        os.makedirs(os.path.join(self.folder, "build", "test"))
        os.symlink(os.path.dirname(HOTPIN), os.path.join(self.folder, "build", "tools"))
        os.makedirs(os.path.join(self.folder, "test"))
        os.symlink(os.path.join(ROOT, "test", "standin"), os.path.join(self.folder, "test", "standin"))
        self.environment = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
                            if name in os.environ}
        cuda = os.environ.get("CUDA_PATH", "/usr/local/cuda")
        path = [os.path.dirname(HOTPIN), os.environ["PATH"], os.path.join(cuda, "bin")]
        self.environment.update(PATH=os.pathsep.join(path), LC_ALL="C", COLUMNS="80", HOME=self.folder)
        if STANDIN:
            os.symlink(STANDIN, os.path.join(self.folder, "build", "test", "standin"))
            os.symlink(APP, os.path.join(self.folder, "app"))
            self.environment.update(LD_LIBRARY_PATH=STANDIN, HOTPIN_CUPTI="off", HOTPIN_THREADS="2")

    def run(self, script):
        """Returns the exit status and the output, standard output first."""
        done = subprocess.run(["bash", "-c", PRELUDE + script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=200 * SLOWNESS)
        return done.returncode, done.stdout + done.stderr

    def lacks(self, script):
        """Returns a program that the script calls and this machine lacks, or None."""
        return next((word for word in ("nvcc",) if re.search(r"\b%s\b" % word, script) and
                     not shutil.which(word, path=self.environment["PATH"])), None)


def in_order(shown, printed):
    """Returns the first line of `shown` that does not follow in `printed`, or None."""
    rest = iter(printed)
    return next((line for line in shown if line and line not in rest), None)


def mended(shown, printed):
    """Returns the lines of `printed` that best match those of `shown`, in order; others are
    dropped."""
    best = [[(0, None)] * (len(printed) + 1) for _ in range(len(shown) + 1)]
    for i, line in enumerate(shown):
        for j, candidate in enumerate(printed):
            alike = difflib.SequenceMatcher(None, line, candidate, autojunk=False).ratio() if line else 0
            options = [(best[i][j + 1][0], "skip shown"), (best[i + 1][j][0], "skip printed")]
            if alike > 0.6:
                options.append((best[i][j][0] + alike, "take"))
            best[i + 1][j + 1] = max(options, key=lambda option: option[0])
    result, i, j = [], len(shown), len(printed)
    while i > 0:
        step = best[i][j][1]
        if not shown[i - 1]:
            result.append("")
            i -= 1
        elif step == "take":
            i, j = i - 1, j - 1
            result.append(printed[j])
        elif step == "skip printed":
            j -= 1
        else:
            i -= 1
    return result[::-1]


def quoted(page, scratch, command, block):
    """Compares a quotation with the command's output; returns the block as it should be."""
    program = next((word for word in command.split() if word.startswith("./")), None)
    if program and not (STANDIN and os.path.exists(os.path.join(scratch.folder, program))):
        print("skipped: %s: %s: there is no %s" % (page, command, program))
        return block
    printed = scratch.run(command)[1].splitlines()
    shown = unindented(block)
    missing = in_order(shown, printed)
    if missing is None:
        return block
    if WRITE:
        return "".join("    %s\n" % line if line else "\n" for line in mended(shown, printed))
    wrong.append("%s: %s prints no such line, or not there: %s" % (page, command, missing))
    return block


def commands(block):
    """Returns the commands of a block, without comments; continued lines are one command."""
    text = "\n".join(re.sub(r"(^|\s+)#.*", "", line) for line in unindented(block))
    return [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def named_test(page, path, block):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            test = file.read()
    except FileNotFoundError:
        wrong.append("%s: there is no %s" % (page, path))
        return
    for command in commands(block):
        word = os.path.basename(command.split()[0])
        if word not in test:
            wrong.append("%s: %s does not run %s" % (page, path, command))


def check_page(page):
    path = os.path.join(ROOT, page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for code in CODE.findall(BLOCK.sub("\n", text)):
        wrong.append("%s: this code has no marker in front of it (see %s):\n%s"
                     % (page, os.path.basename(__file__), "".join(code)))
    scratch = Scratch()

    def one(match):
        what, block = match.groups()
        if what == "run" and STANDIN:
            script = "\n".join(unindented(block))
            if scratch.lacks(script):
                print("skipped: %s: no %s" % (page, scratch.lacks(script)))
                return match[0]
            status, printed = scratch.run(script)
            if status != 0:
                wrong.append("%s: exit status %d of\n%s%s" % (page, status, block, printed))
        elif what.startswith("hotpin "):
            block = quoted(page, scratch, what, block)
        elif what.startswith("file: "):
            with open(os.path.join(scratch.folder, what[6:]), "w", encoding="utf-8") as file:
                file.write("\n".join(unindented(block)) + "\n")
        elif what.startswith("test/"):
            named_test(page, what, block)
        return "<!-- %s -->\n%s<!-- end -->" % (what, block)

    new = BLOCK.sub(one, text)
    if new != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(new)
        print("wrote", page)
    check_names(page, text)
    scratch.temporary.cleanup()


def helps():
    """Returns command -> its --help."""
    text = subprocess.run([HOTPIN, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z]+) .*", text, re.M)
    return {name: subprocess.run([HOTPIN, name, "--help"], capture_output=True, text=True,
                                 check=True).stdout for name in names}


def check_names(page, text):
    """Checks commands of hotpin in blocks and in code spans: `hotpin COMMAND FLAGS`."""
    spans = re.findall(r"`([^`]+)`", re.sub(r"\s+", " ", BLOCK.sub("", text)))
    spans += [command for what, block in BLOCK.findall(text) if what == "run" or what.startswith(("test/", "example"))
              for command in commands(block)]
    for span in spans:
        for command, rest in re.findall(r"(?:^|[ /&;])hotpin ([a-z]+)((?: [^&|;]+)?)", span):
            if command not in HELP:
                wrong.append("%s: there is no command hotpin %s: %s" % (page, command, span))
                continue
            try:
                words = shlex.split(rest)
            except ValueError:
                words = rest.split()
            for word in words:
                if command in ("run", "bench") and PROGRAMS.match(word):
                    break
                flag = re.match(r"--?[a-z]+", word)
                if flag and not re.search(r"(?<![\w-])%s(?![\w-])" % flag[0], HELP[command]):
                    wrong.append("%s: hotpin %s has no %s: %s" % (page, command, flag[0], span))


HELP = helps()
pages = ["README.md", "test/standin/README.md"]
pages += sorted(os.path.relpath(path, ROOT) for path in glob.glob(ROOT + "/doc/*.md"))
for page in pages:
    check_page(page)
# Commands on these pages are not run, but must exist.
for page in ["CHANGELOG.md", "src/README.md", "test/README.md"]:
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        check_names(page, file.read())
if wrong:
    print("\n".join(wrong))
    print("Output that has changed: test/rules/pages.py HOTPIN ROOT STAND-IN APP --write mends it.")
sys.exit(bool(wrong))
