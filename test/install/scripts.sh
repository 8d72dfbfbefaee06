#!/bin/bash
# Checks the scripts of tools/: their help, what they say of missing packages, and what tools/package
# copies to build from: with git, without it, and in another user's clone.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v git >/dev/null || { echo "git is not installed" && exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

for script in check package quick quickstart; do
	CUDA_PATH=$folder "tools/$script" --help | grep -q "^	tools/$script" &&
		! "tools/$script" --halp >/dev/null && continue
	echo "tools/$script: --help does not say how to call it, or a mistyped --help does not fail"
	failed=1
done

mkdir -p "$folder/toolkit/include" "$folder/bin" "$folder/clone/tools" "$folder/clone/build-old"
echo "#define CUDA_VERSION 13000" >"$folder/toolkit/include/cuda.h"
# The build ends here: the list of its files is what is tested.
# shellcheck disable=SC2016 # expanded in the script
printf '#!/bin/sh\nls -A >"$LIST"\nexit 1\n' >"$folder/bin/meson"
chmod +x "$folder/bin/meson"
cp tools/package "$folder/clone/tools"
cp -r tools/scripts "$folder/clone/tools"
cd "$folder/clone" || exit 1
echo build-old >.gitignore
touch build-old/a
git init -q . && git add . && git -c user.name=a -c user.email=a commit -qm a || exit 1
touch new

check() { # name, files that are copied, assignments of environment variables
	env LIST="$folder/list" CUDA_PATH="$folder/toolkit" "${@:3}" \
		tools/package --wheel >"$folder/log" 2>&1
	[ "$(paste -sd ' ' "$folder/list")" = "$2" ] && rm "$folder/list" && return
	echo "$1: '$(paste -sd ' ' "$folder/list")', not '$2'"
	cat "$folder/log"
	failed=1
}

check "the last commit" ".gitignore tools" PATH="$folder/bin:$PATH"
check "the clone of another user" ".gitignore tools" PATH="$folder/bin:$PATH" \
	GIT_TEST_ASSUME_DIFFERENT_OWNER=1
ln -s clone "$folder/link"
cd "$folder/link" || exit 1
check "the clone of another user, behind a link" ".gitignore tools" PATH="$folder/bin:$PATH" \
	GIT_TEST_ASSUME_DIFFERENT_OWNER=1
mkdir "$folder/without"
cp "$folder/bin/meson" "$folder/without/"
printf '#!/bin/sh\nexit 127\n' >"$folder/without/git"
chmod +x "$folder/without/git"
check "without git" ".gitignore new tools" PATH="$folder/without:$PATH"
mv .git "$folder/"
check "a folder that is no clone" ".gitignore new tools" PATH="$folder/bin:$PATH"

# A user who cannot install anything, without a command that the build needs.
mkdir "$folder/few"
cp -s /usr/bin/* "$folder/few/" 2>/dev/null
rm -f "$folder"/few/{ninja,id,sudo}
printf '#!/bin/sh\necho 1000\n' >"$folder/few/id"
printf '#!/bin/sh\nexit 1\n' >"$folder/few/sudo"
chmod +x "$folder"/few/{id,sudo}
said=$(PATH=$folder/few CUDA_PATH=$folder/toolkit tools/package --wheel 2>&1)
[[ $said = *"apt-get install "*ninja-build* ]] || {
	echo "a missing package: '$said'"
	failed=1
}
exit $failed
