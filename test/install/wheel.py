#!/usr/bin/env python3
"""Checks the wheel of a build: its name, its installation by pip without a network, the commands of
doc/pytorch.md, and its removal.  wheel.py BUILD ROOT

The commands between `<!-- test/install/wheel.py -->` and `<!-- end -->` in doc/pytorch.md are run
in a new virtual environment, except tools/package: the wheel is made from BUILD.
"""
import csv
import filecmp
import glob
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import zipfile

SKIPPED = 77
build, root = map(os.path.abspath, sys.argv[1:])
TOOL = os.path.join(root, "packaging", "wheel.py")
PAGE = os.path.join(root, "doc", "pytorch.md")
FILES = """__init__.py __main__.py bin/hotpin lib/libhotpin.so profile.schema.json
    share/man/man1/hotpin.1""".split()
# Imitates a training script: prints its process id, and the libraries that are loaded into it.
TRAIN = """import json, os, signal
with open("ran", "w") as file:
    json.dump([os.getpid(), sorted({line.split()[-1] for line in open("/proc/self/maps")
                                    if "libhotpin" in line})], file)
"""
wrong = []


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def check(right, what):
    if not right:
        wrong.append(what)


def load_tool():
    spec = importlib.util.spec_from_file_location("tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(tool)
    return tool


def check_versions():
    tool = load_tool()
    for needed, versions, expected in (
            (["libc.so.6"], ["GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.4"], (2, 34)),
            (["libc.so.6", "ld-linux-x86-64.so.2"], ["GLIBC_2.3.4"], (2, 17)),
            (["libc.so.6"], ["GLIBC_2.28", "GLIBC_ABI_DT_RELR"], (2, 36)),
            (["libc.so.6"], ["GLIBC_PRIVATE"], None),
            (["libc.so.6", "libgcc_s.so.1"], [], None),
            (["libjansson.so.4"], [], None)):
        try:
            found = tool.glibc_of("file", types.SimpleNamespace(needed=needed, versions=versions))
        except tool.Wrong:
            found = None
        check(found == expected, "%s %s: %s, not %s" % (needed, versions, found, expected))


def refused(wheel):
    return subprocess.run([TOOL, "--check", wheel], stderr=subprocess.DEVNULL).returncode == 1


def check_file(wheel, folder):
    """Checks the name of the wheel, and that a wheel with another name or content is refused."""
    check(not refused(wheel), "%s is refused" % wheel)
    version = re.search(r"manylinux_2_(\d+)_", wheel)
    check(version, "%s names no platform" % wheel)
    if version and shutil.which("readelf"):
        binaries = [os.path.join(build, "tools", "hotpin"), os.path.join(build, "src", "libhotpin.so")]
        symbols = subprocess.run(["readelf", "-VW"] + binaries, capture_output=True, text=True).stdout
        newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols))
        check(int(version[1]) == newest, "glibc 2.%d is needed, not 2.%s" % (newest, version[1]))
    else:
        print("skipped: the version of glibc: readelf is not installed")
    other = os.path.join(folder, re.sub("manylinux_2_[0-9]+_", "manylinux_2_17_", os.path.basename(wheel)))
    shutil.copy(wheel, other)
    check(refused(other), "a wheel that claims an older glibc is not refused")
    other = os.path.join(folder, os.path.basename(wheel))
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for path in old.namelist():
            new.writestr(path, old.read(path) + (b"\n" if path == "hotpin/__main__.py" else b""))
    check(refused(other), "a wheel that is not as RECORD says is not refused")


def bundled_pip():
    try:
        import ensurepip
        import venv  # noqa: F401
    except ImportError:
        skip("Python has no venv: apt-get install python3-venv")
    import sysconfig
    folders = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"),
               sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels"]
    wheels = [path for folder in folders for path in glob.glob(os.path.join(folder, "pip-*.whl"))]
    return wheels[0] if wheels else skip("Python brings no pip: apt-get install python3-venv")


class Environment:
    """A new virtual environment; pip runs outside of it, because installing pip takes seconds."""

    def __init__(self, folder, pip):
        self.folder = os.path.join(folder, "venv")
        self.work = os.path.join(folder, "work")
        bin_folder = os.path.join(folder, "bin")
        with zipfile.ZipFile(pip) as archive:
            archive.extractall(os.path.join(folder, "pip"))
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.folder], check=True)
        # As in any environment, hotpin is not the only package.
        with open(os.path.join(self.site(), "other.py"), "w"):
            pass
        os.makedirs(bin_folder)
        self.script(os.path.join(bin_folder, "pip"),
                    'PYTHONPATH=%s/pip exec python -m pip "$@"' % folder)
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith(("HOTPIN", "PIP_", "PYTHON", "LD_"))}
        self.variables.update(
            PATH=os.pathsep.join([bin_folder, os.path.join(self.folder, "bin"), os.environ["PATH"]]),
            HOME=folder, PIP_CONFIG_FILE=os.devnull, PIP_NO_INDEX="1", PIP_NO_DEPS="1", PIP_YES="1",
            PIP_NO_CACHE_DIR="1", PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_ROOT_USER_ACTION="ignore")

    @staticmethod
    def script(path, text):
        with open(path, "w") as file:
            file.write("#!/bin/sh\n%s\n" % text)
        os.chmod(path, 0o755)

    def site(self):
        return glob.glob(os.path.join(self.folder, "lib", "python*", "site-packages"))[0]

    def files(self):
        return {os.path.join(folder, name) for folder, folders, names in os.walk(self.folder)
                for name in folders + names}

    def run(self, command):
        """Returns the process id and the output."""
        process = subprocess.Popen(["bash", "-c", command], cwd=self.work, env=self.variables,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        printed = process.communicate()[0]
        check(process.returncode == 0, "%s: exit status %d\n%s" % (command, process.returncode, printed))
        return process.pid, printed


def check_installed(environment, before):
    site = environment.site()
    there = {os.path.relpath(path, site) for path in environment.files() - before
             if not os.path.isdir(path) and "__pycache__" not in path}
    version = re.search(r"version: '([^']+)'", open(os.path.join(root, "meson.build")).read())[1]
    manual = {name for name in there if name.startswith("hotpin/share/doc/hotpin/")}
    links = subprocess.run([os.path.join(root, "test", "rules", "links.py"), "--installed",
                            os.path.join(site, "hotpin", "share", "doc", "hotpin")], capture_output=True, text=True)
    check(len(manual) > 10 and links.returncode == 0, "the manual: " + links.stdout)
    there -= manual
    pages = {"share/man/man1/hotpin-%s.1" % command for command in
             re.findall(r"^  ([a-z]+) ", environment.run("hotpin help")[1], re.M)}
    wanted = {"hotpin/" + name for name in pages.union(FILES)} | {os.path.relpath(environment.folder, site) + "/bin/hotpin"}
    found = {name for name in there if not name.startswith("hotpin-%s.dist-info/" % version)}
    check(found == wanted, "installed, or missing: %s" % sorted(found ^ wanted))
    with open(os.path.join(site, "hotpin-%s.dist-info" % version, "RECORD")) as file:
        recorded = {row[0] for row in csv.reader(file)}
    check(there | manual <= recorded, "not in RECORD: %s" % sorted((there | manual) - recorded))
    for command in "hotpin --version", "python -m hotpin --version":
        check(environment.run(command)[1] == "hotpin %s\n" % version, "%s: another version" % command)
    # Python ignores two signals; the programs that it runs must not.
    ignored = environment.run("python -m hotpin run grep SigIgn /proc/self/status")[1]
    check(not any(int(ignored.split()[1], 16) >> number - 1 & 1
                  for number in (signal.SIGPIPE, signal.SIGXFSZ)),
          "a program starts with signals ignored: " + ignored)
    # In the C locale Python sets LC_CTYPE, which a program would inherit.
    for variables in "-u LC_CTYPE", "LC_CTYPE=", "LC_CTYPE=none":
        prefix = "env -u LC_ALL -u LANG %s " % variables
        found = [environment.run(prefix + command + "env")[1] for command in ("", "hotpin run ")]
        kept = [[line for line in text.splitlines() if line.startswith("LC_")] for text in found]
        check(kept[0] == kept[1], "the locale of a program under %s: %s" % (prefix, kept))


def check_ran(environment, command, process):
    """Checks that train.py has replaced the started process, and has the wheel's library."""
    with open(os.path.join(environment.work, "ran")) as file:
        found = json.load(file)
    library = os.path.join(os.path.realpath(environment.site()), "hotpin", "lib", "libhotpin.so")
    check(found == [process, [library]], "%s: %s, not %s" % (command, found, [process, [library]]))
    os.remove(os.path.join(environment.work, "ran"))


def page_commands():
    with open(PAGE, encoding="utf-8") as file:
        block = re.search(r"<!-- test/install/wheel.py -->\n(.*?)<!-- end -->", file.read(), re.S)
    return [re.sub(r"\s+#.*", "", line).strip() for line in block[1].splitlines() if line.strip()]


def check_readme(commands):
    """Each command about the wheel in README.md must be one of those that were run."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        named = re.findall(r"`([^`]*(?:--wheel|\bpip )[^`]*)`", file.read())
    check(named, "README.md does not say how to install the wheel")
    for command in " && ".join(named).split("&&"):
        check(" ".join(command.split()) in commands, "README.md: not run here:" + command)


def main():
    pip = bundled_pip()
    check_versions()
    # The real path is used, because the library's path is compared.
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        made = subprocess.run([TOOL, build, os.path.join(folder, "made")], capture_output=True, text=True)
        if made.returncode != 0:
            if re.search("lib(jansson|dw)", made.stderr):
                skip("jansson or libdw is no static library here: " + made.stderr.strip())
            sys.exit(made.stderr)
        wheel = made.stdout.strip()
        check_file(wheel, folder)
        again = subprocess.run(["sh", "-c", 'umask 077; exec "$@"', "-", TOOL, build, os.path.join(folder, "a gain")],
                               capture_output=True, text=True, cwd=folder, env=dict(os.environ, TZ="Asia/Tokyo"))
        check(again.returncode == 0 and filecmp.cmp(wheel, again.stdout.strip(), shallow=False),
              "the same build makes another wheel: " + again.stdout + again.stderr)

        environment = Environment(folder, pip)
        before = environment.files()
        os.makedirs(os.path.join(environment.work, "tools"))
        environment.script(os.path.join(environment.work, "tools", "package"),
                           'test "$*" = --wheel && mkdir -p build/wheel && cp "%s" build/wheel' % wheel)
        with open(os.path.join(environment.work, "train.py"), "w") as file:
            file.write(TRAIN)
        commands = page_commands()
        check_readme(commands)
        for command in commands:
            process, _ = environment.run("exec " + command)
            if command.startswith("pip install"):
                check_installed(environment, before)
            if command.endswith("train.py"):
                check_ran(environment, command, process)
        check(any(command.startswith("pip uninstall") for command in commands), "nothing is uninstalled")
        check(environment.files() == before, "left behind: %s" % sorted(environment.files() ^ before))
    print("\n".join(wrong))
    return bool(wrong)


sys.exit(main())
