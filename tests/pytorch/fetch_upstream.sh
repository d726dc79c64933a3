#!/usr/bin/env bash
# Usage: tests/pytorch/fetch_upstream.sh FOLDER
#
# Extracts PyTorch's own tests, which upstream.py runs, from Debian's source package of PyTorch (trixie) into FOLDER.
# Fetches about 37 MB (10 of them the package list), which apt checks against Debian's signatures; nothing is installed.
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
source "$REPOSITORY/scripts/lib/debian.sh"
[[ $# == 1 ]] || wrong_use "Usage: ${0##*/} FOLDER"

folder=$(realpath -m -- "$1")
part=$folder.part
say "Fetching Debian's source package of PyTorch (trixie; 27 MB and a package list of 10 MB) into $folder; nothing is installed."
rm -rf -- "$part"
mkdir -p "$part"
private_apt "$part" deb-src trixie
(cd "$part" && apt_of "$part" source --download-only pytorch) ||
    fail 'apt-get could not fetch the source package of PyTorch; its message is above.'
archives=("$part"/pytorch_*.orig.tar.xz)
[[ -f ${archives[0]} ]] || fail 'The source package of PyTorch has no pytorch_*.orig.tar.xz.'
# From test/: the files at its top level, and the folders that they import from or compare with.
tar -xf "${archives[0]}" -C "$part" --strip-components=2 --wildcards --no-wildcards-match-slash \
    '*/test/*.py' '*/test/nn' '*/test/autograd' '*/test/optim' '*/test/expect' '*/test/distributed' ||
    fail 'The source package of PyTorch could not be unpacked; the message is above.'
name=${archives[0]##*/}
name=${name#pytorch_}
printf '%s\n' "${name%.orig.tar.xz}" >"$part/version"
remove_private_apt "$part"
rm -rf -- "$part"/pytorch_* "$folder"
mv -- "$part" "$folder"
