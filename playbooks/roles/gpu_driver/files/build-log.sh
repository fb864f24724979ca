# shellcheck shell=sh
# When a script that follows fails, its error output ends with what is known of the cause: the end of DKMS's newest log,
# and what NVIDIA's packages need of Debian.
set -eu
build_log() {
  log=$(find /var/lib/dkms -path '*/nvidia*/make.log' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d' ' -f2)
  if [ -n "$log" ]; then
    echo "the end of $log:"
    tail -n 20 "$log"
  fi
  if grep -qs '^ID=debian$' /etc/os-release &&
    ! apt-get indextargets 2>/dev/null | grep -qx 'Component: contrib'; then
    echo "apt knows no component contrib of Debian; where it names packages that it cannot find, add contrib to your sources"
  fi
} >&2
trap 'case $? in 0 | 75) ;; *) build_log ;; esac' EXIT
