#!/bin/sh
# What `meson install` does last where it installs for this machine: the loader finds libraries by
# name in its cache only, and LD_PRELOAD=libhotpin.so is a name.  installed.sh LIBRARY-FOLDER
set -u
PATH=$PATH:/usr/sbin:/sbin
library=$1/libhotpin.so

# Fails for all but root, who may have asked for another folder than the loader's, too.
ldconfig 2>/dev/null
if ldconfig -p 2>/dev/null | grep -qF " => $library"; then
	echo "hotpin: programs find the library as LD_PRELOAD=libhotpin.so"
else
	echo "hotpin: the loader does not search $1; use \`hotpin run\`, or set"
	echo "hotpin: LD_PRELOAD=$library"
fi
