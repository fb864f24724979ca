# shellcheck shell=sh
# Read before scripts that put back what a file said before us.

# The copies of file $1 that Ansible kept (FILE.PID.DATE@TIME~), the oldest first. Names have no blanks.
copies() {
  for copy in "$1".*~; do printf '%s\n' "$copy"; done |
    sed -n 's/^.*\.\([0-9]*\)\.\([0-9-]*@[0-9:]*~\)$/\2 \1 &/p' | sort -k1,1 -k2,2n | cut -d ' ' -f 3
}

# The mount points below a folder, the deepest first. The table of mounts has real paths, with blanks in octal.
list_mounts() {
  below=$(readlink -m "$1") awk '
    { gsub(/\\040/, " ", $2); gsub(/\\011/, "\t", $2); gsub(/\\134/, "\\", $2) }
    index($2, ENVIRON["below"] "/") == 1 { found[++n] = $2 }
    END { for (; n; n--) print found[n] }' /proc/mounts
}

# Ends the script while something is mounted below one of these folders: it can be a volume, or somebody's export.
refuse_mounts() {
  for folder in "$@"; do
    mounts=$(list_mounts "$folder") || exit
    [ -n "$mounts" ] || continue
    printf '%s\n' "nothing of $folder was removed, since these are mounted below it; umount them, then reset again:" "$mounts" >&2
    exit 1
  done
}

# Removes an empty folder that no package brought. One that is a mount of its own stays.
drop_empty() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -z "$(ls -A "$1")" ] || return 0
  ! mountpoint -q "$1" || return 0
  ! dpkg -S "$1" >/dev/null 2>&1 || return 0
  rmdir "$1"
  echo "changed: removed $1"
}

# Removes files and folders that are there; of a link the link, of a mount what is in it. Never goes into a mount below:
# a folder of the same file system that is mounted there looks to rm like one of its own.
drop() {
  for path in "$@"; do
    [ -e "$path" ] || [ -L "$path" ] || continue
    if [ ! -L "$path" ] && [ -d "$path" ]; then refuse_mounts "$path"; fi
    if [ ! -L "$path" ] && mountpoint -q "$path"; then
      [ -n "$(ls -A "$path")" ] || continue
      find "$path" -xdev -mindepth 1 -delete
      echo "changed: emptied $path"
    else
      rm -rf --one-file-system "$path"
      echo "changed: removed $path"
    fi
  done
}
