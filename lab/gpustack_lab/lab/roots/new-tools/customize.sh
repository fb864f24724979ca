#!/bin/sh
# customize.sh ROOT: uutils and sudo-rs under the names that Ubuntu 26.04 has them under, the others as gnuNAME and sudo.ws.
set -eu
root=$1

divert() { # FILE OTHER TARGET
    chroot "$root" dpkg-divert --quiet --local --rename --divert "$2" --add "$1"
    ln -s "$3" "$root$1"
}

divert /usr/bin/sudo /usr/bin/sudo.ws ../lib/cargo/bin/sudo
for tool in "$root"/usr/lib/cargo/bin/coreutils/*; do
    name=${tool##*/}
    for folder in bin sbin; do
        [ ! -f "$root/usr/$folder/$name" ] || divert "/usr/$folder/$name" "/usr/$folder/gnu$name" "../lib/cargo/bin/coreutils/$name"
    done
done
