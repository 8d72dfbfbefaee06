#!/bin/bash
# Puts the large files in folder $1 into a git repository: packs, checks, repacks, clones and checks
# them again.  git's output is compared; its packs are not, because threads influence their
# contents.
blobs=$(cd "$1" && pwd) || exit
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$PWD
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main one && cd one || exit
for file in "$blobs"/*; do
	cp "$file" blob && git add blob && git commit -q -m "blob ${file##*/}" || exit
done
seq 20000 | split -l 40 -a 3 - part && git add . && git commit -q -m parts || exit
git repack -q -adf && git fsck --full --strict --no-progress && git gc -q --aggressive &&
	git fsck --full --no-progress && git log --format='%H %s' --shortstat && git diff HEAD~4 HEAD~3 --shortstat
git -c core.bigFileThreshold=1m repack -q -adf --window=20 && git verify-pack .git/objects/pack/*.idx
cd .. && git clone -q --no-local one two && git -C two fsck --full --no-progress &&
	cmp two/blob "$blobs/text" && git -C two rev-parse HEAD
rm -rf one two
