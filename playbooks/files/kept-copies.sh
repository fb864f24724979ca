# shellcheck shell=sh
# Read before scripts that put back what a file said before us.

# The copies of file $1 that Ansible kept (FILE.PID.DATE@TIME~), the oldest first. Names have no blanks.
copies() {
  for copy in "$1".*~; do printf '%s\n' "$copy"; done |
    sed -n 's/^.*\.\([0-9]*\)\.\([0-9-]*@[0-9:]*~\)$/\2 \1 &/p' | sort -k1,1 -k2,2n | cut -d ' ' -f 3
}

# Removes an empty folder that no package brought.
drop_empty() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -z "$(ls -A "$1")" ] || return 0
  ! dpkg -S "$1" >/dev/null 2>&1 || return 0
  rmdir "$1"
  echo "changed: removed $1"
}

# Removes files and folders that are there.
drop() {
  for path in "$@"; do
    [ -e "$path" ] || [ -L "$path" ] || continue
    rm -rf "$path"
    echo "changed: removed $path"
  done
}
