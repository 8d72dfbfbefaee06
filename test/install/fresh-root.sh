#!/bin/bash
# fresh-root.sh - runs the first steps of a new user in a Debian with nothing but the toolkit.
#
#	test/install/fresh-root.sh RELEASE STEP...      (root; minutes; bookworm, trixie, noble, ..)
#
# $MIRROR: where debootstrap finds the packages; needed for Ubuntu's releases on Debian.
#
# STEP: toolkit     takes the toolkit of the distribution, in place of this machine's (gigabytes)
#       quickstart  tools/quickstart
#       check       tools/check, which must leave no file in the clone
#       package     tools/package; the package (or the file $PACKAGE) is installed, used and removed
#                   in a second root
#
# It takes the last commit.  Roots are in ${ROOTS:-/var/tmp/hotpin-roots} and stay for the next
# time, without the changes of the steps.  Mounts end with the script.
set -u
cd "$(dirname "$0")/../.." || exit 1

say() {
	echo "fresh-root: $*"
}

stop() {
	say "$*" >&2
	exit 1
}

[ $# -ge 2 ] || stop "usage: fresh-root.sh RELEASE toolkit|quickstart|check|package..."
[ "$(id -u)" = 0 ] || stop "needs root"
command -v debootstrap >/dev/null || stop "please install: debootstrap"
# In a mount namespace of its own, nothing has to be cleaned up.
[ "$1" = --inside ] ||
	exec unshare --mount --propagation private test/install/fresh-root.sh --inside "$@"
shift

release=$1
shift
roots=${ROOTS:-/var/tmp/hotpin-roots}
base=$roots/$release cuda=$(realpath "${CUDA_PATH:-/usr/local/cuda}")
mkdir -p "$roots"

# Ubuntu's releases; an older debootstrap knows only earlier ones, which it treats alike.
case $release in
jammy | noble) script=(/usr/share/debootstrap/scripts/focal) components=main,universe,multiverse ;;
*) script=() components=main,contrib,non-free ;;
esac

# Creates a root that is never changed, once.
if [ ! -e "$base/complete" ]; then
	say "making $base"
	rm -rf "$base"
	mkdir -p "$base"
	debootstrap --variant=minbase --components="$components" "$release" "$base/root" \
		"${MIRROR-}" "${script[@]}" >"$base/log" 2>&1 || {
		tail "$base/log" >&2
		stop "debootstrap failed"
	}
	touch "$base/complete"
fi

# fresh NAME: copies it to $roots/NAME.
fresh() {
	rm -rf --one-file-system "${roots:?}/$1"
	cp -a --reflink=auto "$base/root" "$roots/$1"
}

# mounts NAME [cuda]: mounts the file systems of a machine, with or without the toolkit and our
# sources.
mounts() {
	local root=$roots/$1

	mount -t proc proc "$root/proc"
	# Its own, in which the driver's library may create devices.
	mount -t tmpfs tmpfs "$root/dev"
	cp -a /dev/{null,zero,full,random,urandom,tty} "$root/dev/"
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	ln -s fd/0 "$root/dev/stdin"
	ln -s fd/1 "$root/dev/stdout"
	ln -s fd/2 "$root/dev/stderr"
	mount -t tmpfs tmpfs "$root/tmp"
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	[ "${2-}" = cuda ] || return 0
	mkdir -p "$root/usr/local/cuda" "$root/src"
	mount --bind -o ro "$cuda" "$root/usr/local/cuda"
	git clone -q . "$root/src"
}

inside() { # NAME command...
	local root=$roots/$1
	shift
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 chroot "$root" sh -c "cd /src 2>/dev/null || cd /; $*"
}

# Lists all files, without apt's own state, which changes with any package.
files_of() {
	(cd "$roots/$1" && find . -xdev ! -path './var/lib/apt/*' ! -path './var/cache/*' \
		! -path './var/log/*' ! -path './var/lib/dpkg/*-old' ! -path './run/*' | sort)
	inside "$1" dpkg-query -W
}

# Prints what a step has left in the clone.
is_clean() {
	local left

	left=$(git -C "$roots/$release-build/src" status --porcelain)
	[ -z "$left" ] || { say "left behind: $left" && return 1; }
}

# Types the command that tools/quickstart prints where there is no toolkit.
toolkit() {
	local install

	umount "$roots/$release-build/usr/local/cuda"
	inside "$release-build" apt-get update -qq
	install=$(inside "$release-build" tools/quickstart 2>&1 | sed -n 's/^hotpin:   \(apt-get install\)/\1 -qq -y/p')
	say "$release: ${install:?no command}"
	inside "$release-build" DEBIAN_FRONTEND=noninteractive "$install"
}

package() {
	local user=$release-user list

	[ -x "$roots/$release-build/src/build/demo" ] || inside "$release-build" tools/quickstart || return
	[ -n "${PACKAGE-}" ] || inside "$release-build" tools/package || return
	fresh "$user"
	mounts "$user"
	list=$(mktemp -d)
	files_of "$user" >"$list/before"
	mkdir "$roots/$user/tmp/package"
	cp "${PACKAGE:-$(echo "$roots/$release-build"/src/build/package/hotpin_*.deb)}" \
		"$roots/$user/tmp/package/"
	inside "$user" 'dpkg -i /tmp/package/hotpin_*.deb' || return
	files_of "$user" | diff "$list/before" - | sed -n 's/^> /    /p'
	# The demo and a device in software, from the tree that built them; there is no compiler
	# here.
	cp -a "$roots/$release-build"/src/build/demo "$roots/$release-build"/src/build/test/standin \
		"$roots/$user/tmp/"
	# shellcheck disable=SC2016 # expanded in there
	inside "$user" 'set -eux
		hotpin --version
		hotpin run true
		test -z "$(LD_PRELOAD=libhotpin.so true 2>&1)"
		LD_PRELOAD=libhotpin.so cat /proc/self/maps | grep -q libhotpin
		hotpin doctor || test $? = 1
		export LD_LIBRARY_PATH=/tmp/standin
		hotpin doctor || test $? = 1
		/tmp/demo 64 2 >/tmp/plain
		hotpin run --profile -o /tmp/profile.json /tmp/demo 64 2 >/tmp/fast
		cmp /tmp/plain /tmp/fast
		hotpin report /tmp/profile.json | head -n 20' || return
	inside "$user" 'dpkg -P hotpin' || return
	if files_of "$user" | diff "$list/before" -; then
		say "$release: installed, used and removed without a trace"
	else
		say "$release: the package leaves the above behind"
		return 1
	fi
	rm -r "$list"
}

failed=0
# The package does not need a root that built nothing.
if [ "$*" != package ] || [ ! -d "$roots/$release-build" ]; then
	fresh "$release-build"
fi
mounts "$release-build" cuda
for step; do
	began=$SECONDS
	say "$release: $step"
	case $step in
	quickstart | check) inside "$release-build" "tools/$step" && is_clean ;;
	toolkit) toolkit ;;
	package) package ;;
	*) stop "$step is no step" ;;
	esac
	status=$?
	[ $status = 0 ] || failed=1
	say "$release: $step ended with $status after $((SECONDS - began)) s"
done
exit $failed
