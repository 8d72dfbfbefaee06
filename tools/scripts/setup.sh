# Prepares the environment, finds the CUDA Toolkit and installs missing packages.  The scripts of
# tools/ source it.
# shellcheck shell=bash

say() {
	echo "hotpin: $*"
}

stop() {
	say "$*" >&2
	exit 1
}

# Sets $cuda to the toolkit's folder, and says which one it is, before anything is installed.
find_toolkit() {
	local found

	if ! found=$(tools/scripts/toolkit.sh 2>&1); then
		say "$found" >&2
		offer_toolkit >&2
		exit 1
	fi
	mapfile -t found <<<"$found"
	cuda=${found[0]}
	say "the CUDA Toolkit is $cuda, CUDA $((found[1] / 1000)).$((found[1] % 1000 / 10)) (${found[2]})"
}

# Says how a toolkit is installed: the distribution's, if it is new enough, otherwise NVIDIA's.
offer_toolkit() {
	local packages=(--no-install-recommends nvidia-cuda-toolkit libcupti-dev) version size name

	version=$(apt-cache show nvidia-cuda-toolkit 2>/dev/null | sed -n 's/^Version: //p' | head -n 1)
	if [ -n "$version" ] && dpkg --compare-versions "$version" ge 12.0; then
		size=$(apt-get install -y -o Debug::NoLocking=1 --print-uris "${packages[@]}" 2>/dev/null |
			awk "/^'/ { bytes += \$3 } END { printf \"%.1f\", bytes / 1e9 }")
		say "Install the distribution's toolkit as root; it needs no GPU, and is a download of $size GB:"
		say "  apt-get install ${packages[*]}"
	elif name=$(repository); then
		say "Install NVIDIA's toolkit as root; it needs no GPU:"
		say "  wget https://developer.download.nvidia.com/compute/cuda/repos/$name/x86_64/cuda-keyring_1.1-1_all.deb"
		say "  dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update"
		say "  apt-get install cuda-nvcc-13-0 cuda-cudart-dev-13-0 cuda-cupti-dev-13-0"
	else
		say "Install NVIDIA's toolkit, which needs no GPU: https://developer.nvidia.com/cuda-downloads"
	fi
	say "If a toolkit is elsewhere, set CUDA_PATH to its folder."
}

# Prints the name of NVIDIA's repository of Debian packages, like debian12 and ubuntu2404.  False for
# other distributions, which need not have a VERSION_ID.
repository() (
	. /etc/os-release
	case $ID in
	debian) echo "debian${VERSION_ID%%.*}" ;;
	ubuntu) echo "ubuntu${VERSION_ID//./}" ;;
	*) exit 1 ;;
	esac
)

# Tests and the demo do not see the caller's own settings of hotpin.  A git hook names its repository,
# which is not that of the tests.
forget_settings() {
	local variable

	for variable in "${!HOTPIN@}" "${!STANDIN_@}" TEST_FOLDER \
		GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; do
		unset "$variable"
	done
}

# Sets TMPDIR to a folder for the files of tests and compilers: LD_PRELOAD can hold its path, sockets
# can have names in it, and programs in it can be started.
place_temporary() {
	local folder file given=${TMPDIR:-/tmp}

	for folder in "$given" /tmp /var/tmp "$PWD/build/tmp"; do
		[[ $folder = /* && $folder != *[\ :\;\$]* && ${#folder} -le 80 ]] || continue
		[ "$folder" != "$PWD/build/tmp" ] || mkdir -p "$folder" || continue
		file=$(mktemp "$folder/hotpin-XXXXXX" 2>/dev/null) || continue
		# A copy of `true` may be a program that needs its name.
		if echo '#!/bin/sh' 2>/dev/null >"$file" && chmod 700 "$file" && "$file" 2>/dev/null; then
			rm -f "$file"
			[ "$folder" = "$given" ] ||
				say "temporary files are in $folder, because programs cannot be tested in '$given'"
			export TMPDIR=$folder
			return
		fi
		rm -f "$file"
	done
	stop "programs cannot be tested in '$given', /tmp and /var/tmp; set TMPDIR to another folder"
}

# Starts the script again if its caller ignores SIGCHLD: meson would see no exit status of a test.
# A shell cannot undo this itself.
heed_children() { # the script's arguments
	local ignored

	ignored=$(sed -n 's/^SigIgn:[[:space:]]*/0x/p' /proc/self/status)
	((ignored >> 16 & 1)) && env --default-signal=CHLD true 2>/dev/null || return 0
	exec env --default-signal=CHLD "tools/${0##*/}" "$@"
}

# Prepares build/.  LD_PRELOAD and LD_LIBRARY_PATH cannot hold every path; if they cannot hold this
# folder's, build/ becomes a link to a folder elsewhere.
place_build() {
	[[ $PWD = *[\ :\;\$]* ]] && [ ! -e build ] || return 0
	local elsewhere

	elsewhere=$(mktemp -d /var/tmp/hotpin-XXXXXX || mktemp -d /tmp/hotpin-XXXXXX) ||
		stop "build/ cannot be in '$PWD', because LD_PRELOAD cannot hold that path; move the folder"
	# It replaces a link whose target is gone.
	ln -sfn "$elsewhere" build || stop "cannot write in '$PWD'"
	say "build/ is in $elsewhere, because LD_PRELOAD cannot hold the path '$PWD'; delete both to remove hotpin"
}

# Prints the apt packages of missing programs, one a line; $1: quickstart, check, quick, package or
# wheel.
missing_packages() {
	command -v gcc >/dev/null || echo gcc
	# nvcc calls g++; a package is built without nvcc.
	[[ $1 = @(package|wheel|quick) ]] || command -v g++ >/dev/null || echo g++
	command -v meson >/dev/null || echo meson
	command -v ninja >/dev/null || echo ninja-build
	command -v python3 >/dev/null || echo python3
	[ -f /usr/include/jansson.h ] || echo libjansson-dev
	# libdw brings libelf and zlib.
	[ -f /usr/include/elfutils/libdw.h ] || echo libdw-dev
	# A static libdw names it.
	[ -f /usr/include/bzlib.h ] || echo libbz2-dev
	# meson finds jansson and libdw by it.
	command -v pkg-config >/dev/null || echo pkg-config
	[ -f /usr/include/stdio.h ] || echo libc6-dev
	if [ "$1" = package ]; then
		command -v dpkg-buildpackage >/dev/null || echo dpkg-dev
		command -v dh >/dev/null || echo debhelper
		[ -d /usr/share/doc/build-essential ] || echo build-essential
		command -v lintian >/dev/null || echo lintian
	fi
	[ "$1" = check ] || return 0
	command -v clang >/dev/null || echo clang
	command -v readelf >/dev/null || echo binutils
}

# Prints packages that some tests need to run.  Not every release of Debian has all of them.
missing_extras() {
	command -v clang-format-14 >/dev/null || echo clang-format-14
	command -v shellcheck >/dev/null || echo shellcheck
	# spin checks the models of test/model.
	command -v spin >/dev/null || echo spin
	# Tests open the page of `hotpin html` in it.
	command -v chromium chromium-browser google-chrome >/dev/null || echo chromium
	# Programs and allocators that tests run with the library.
	command -v git >/dev/null || echo git
	command -v sqlite3 >/dev/null || echo sqlite3
	python3 -c "import test.test_dict" 2>/dev/null || echo "libpython$(python_version)-testsuite"
	python3 -c "import jsonschema" 2>/dev/null || echo python3-jsonschema
	python3 -c "import yaml" 2>/dev/null || echo python3-yaml
	python3 -c "import venv, ensurepip" 2>/dev/null || echo python3-venv
	has_library libjemalloc.so.2 || echo libjemalloc2
	has_library libtcmalloc_minimal.so.4 || echo libtcmalloc-minimal4
	has_library libmimalloc.so.2 || echo libmimalloc2.0
}

python_version() { # as in the names of Debian's packages; "3" without Python
	python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo 3
}

has_library() { # soname
	[ -n "$(find /usr/lib -name "$1" -print -quit 2>/dev/null)" ]
}

# Prints how many tests to run at once: two for each core, because many of them mostly wait, but only
# as many as have 2 GiB of memory each, which the largest tests need.
test_processes() {
	local kib bytes group file most=$(($(nproc) * 2))

	kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
	# The memory limits of this process's cgroups, version 2 and version 1.
	for group in $(sed -n 's/^0::/\/sys\/fs\/cgroup/p; s/^[0-9]*:memory:/\/sys\/fs\/cgroup\/memory/p' \
		/proc/self/cgroup); do
		for file in "$group"/memory.max "$group"/memory.limit_in_bytes; do
			bytes=$(cat "$file" 2>/dev/null) || continue
			[[ $bytes = max ]] || [ "$bytes" -ge $((kib << 10)) ] || kib=$((bytes >> 10))
		done
	done
	[ $((kib >> 21)) -ge "$most" ] || most=$((kib >> 21))
	echo $((most > 0 ? most : 1))
}

apt() { # apt-get's arguments
	local as=()

	[ "$(id -u)" = 0 ] || as=(sudo -n)
	"${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >>"$setup_log" 2>&1
}

can_install() {
	command -v apt-get >/dev/null || return 1
	[ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

install_missing() { # quickstart, check, package or wheel
	local packages=() extras=()

	mapfile -t packages < <(missing_packages "$1")
	[ "$1" != check ] || mapfile -t extras < <(missing_extras)
	[ ${#packages[@]} -gt 0 ] || [ ${#extras[@]} -gt 0 ] || return 0
	if ! can_install; then
		[ ${#packages[@]} -gt 0 ] || return 0
		stop "packages are missing; install them as root, then run this again:
  apt-get install ${packages[*]}"
	fi

	setup_log=$(mktemp)
	say "installing with apt-get: ${packages[*]} ${extras[*]}"
	apt update || say "apt-get update failed, so the existing package lists are used"
	if [ ${#packages[@]} -gt 0 ] && ! apt install -y --no-install-recommends "${packages[@]}"; then
		tail -n 20 "$setup_log" >&2
		rm -f "$setup_log"
		stop "could not install ${packages[*]}; see above"
	fi
	local extra
	# The first packages may have installed Python, whose version is in the name of one of these.
	[ "$1" != check ] || mapfile -t extras < <(missing_extras)
	for extra in "${extras[@]}"; do
		apt install -y --no-install-recommends "$extra" ||
			say "could not install $extra; the tests that need it are skipped"
	done
	rm -f "$setup_log"
}
