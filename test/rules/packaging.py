#!/usr/bin/env python3
"""Checks the release, and the recipes in packaging/, which no package manager builds here.

    packaging.py ROOT

CHANGELOG.md and debian/changelog must have the version of meson.build and the same date.  Each
recipe must parse, have that version, list the packages that tools/scripts/setup.sh installs for a build,
and state at its top what was not tried.
"""
import ast
import email.utils
import os
import re
import sys

root = sys.argv[1]
SPACK = "packaging/spack_repo/hotpin/packages/hotpin/package.py"
CONDA = "packaging/conda/meta.yaml"
wrong = []


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def spack():
    """Returns the versions and the names of the packages that the recipe needs."""
    calls = [node for node in ast.walk(ast.parse(read(SPACK), SPACK)) if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Name) and node.args]
    called = {name: [ast.literal_eval(call.args[0]) for call in calls if call.func.id == name]
              for name in ("version", "depends_on")}
    return called["version"], {re.match(r"[\w-]+", spec)[0] for spec in called["depends_on"]}


def conda():
    try:
        import yaml
    except ImportError:
        print("skipped: parsing %s: python3-yaml is not installed" % CONDA)
        lines = read(CONDA)
        return (re.findall(r'^  version: "(.*)"$', lines, re.M),
                set(re.findall(r"^    - ([\w-]+)", lines, re.M)))
    recipe = yaml.safe_load(read(CONDA))
    needed = [spec for specs in recipe["requirements"].values() for spec in specs]
    cuda = {spec.split()[0] for spec in recipe["requirements"]["host"] if spec.startswith("cuda")}
    if cuda != set(recipe["build"].get("ignore_run_exports_from", [])):
        wrong.append(CONDA + ": installing it would install a version of the CUDA runtime")
    return [recipe["package"]["version"]], {spec.split()[0] for spec in needed}


version = re.search(r"version: '([^']+)'", read("meson.build"))[1]
released = re.search(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", read("CHANGELOG.md"), re.M)
if not released or released[1] != version:
    wrong.append("CHANGELOG.md: its first version with a date is not " + version)
debian = read("debian/changelog")
signed = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", debian, re.M)[1])
if not debian.startswith("hotpin (%s) " % version) or "UNRELEASED" in debian:
    wrong.append("debian/changelog: does not begin with version %s, or is unreleased" % version)
if released and signed.strftime("%Y-%m-%d") != released[2]:
    wrong.append("debian/changelog: another date than CHANGELOG.md")
setup = read("tools/scripts/setup.sh")
for path, (versions, needed) in ((SPACK, spack()), (CONDA, conda())):
    if versions != [version]:
        wrong.append("%s: version %s, not %s" % (path, versions, version))
    # Debian's packages without those that only Debian needs; a recipe may have more.
    for package in ("meson", "ninja-build", "python3", "libjansson-dev", "libdw-dev",
                    "pkg-config"):
        if package not in setup:
            wrong.append("tools/scripts/setup.sh no longer installs " + package)
        name = {"libdw-dev": "elfutils"}.get(package, re.sub(r"^lib|-dev$|-build$|3$", "", package))
        if not needed & {name, name.replace("-", "")}:
            wrong.append("%s: does not need %s, which the build does" % (path, package))
    head = re.match(r"(#.*\n)+", read(path))
    if not head or "Not tried:" not in head[0]:
        wrong.append("%s: does not say at its head what was not tried" % path)
print("\n".join(wrong))
sys.exit(bool(wrong))
