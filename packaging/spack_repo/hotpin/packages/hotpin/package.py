# Recipe for Spack 1.0 or later.  No tarball is published: it builds the tree that it is told.
#
#     spack repo add packaging/spack_repo/hotpin
#     spack install hotpin dev_path=$PWD
#
# Checked by test/rules/packaging.py: it is Python, its version is that of meson.build, and it names
# what the build needs.  Not tried: Spack itself, on any machine; the program that it makes.
from spack_repo.builtin.build_systems.meson import MesonPackage

from spack.package import *


class Hotpin(MesonPackage):
    """Makes the host-device copies of unmodified CUDA programs fast, and says where their time
    goes: transfers kept apart from kernels."""

    license("MIT")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build")
    # Headers alone: programs bring the driver and the runtime that they use.
    depends_on("cuda@12.1:", type="build")
    # Linked into the command.
    depends_on("jansson~shared")
    # Spack has no static libdw, so the command needs it where it runs.
    depends_on("elfutils")

    def meson_args(self):
        return ["-Dtests=disabled", "-Dcuda=" + self.spec["cuda"].prefix]
