#!/bin/sh
# installed.sh LIBRARY-FOLDER - refreshes the loader's cache at the end of `meson install`.
#
# The loader finds LD_PRELOAD=libhotpin.so, which is a name and not a path, only by its cache.
set -u
PATH=$PATH:/usr/sbin:/sbin
library=$1/libhotpin.so

# Only root can do this.  The loader need not search the folder that root chose.
ldconfig 2>/dev/null
if ldconfig -p 2>/dev/null | grep -qF " => $library"; then
	echo "hotpin: programs find the library as LD_PRELOAD=libhotpin.so"
else
	echo "hotpin: the loader does not search $1; use \`hotpin run\`, or set"
	echo "hotpin: LD_PRELOAD=$library"
fi
