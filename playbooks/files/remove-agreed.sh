# shellcheck shell=sh
# Read before scripts that take back what a step did. Nothing is removed or restored but what was shown, agreed on, and is
# as it was then. Reads AGREED (JSON: of each path what is to be done, and its state) and OWNERSHIP (the program that
# compares). Without them nothing is agreed on.
AGREED_NOW=
case ${AGREED:-none} in
  none | '{}') ;;
  *) AGREED_NOW=$(printf '%s' "$AGREED" | python3 -I -c "$OWNERSHIP" still) || exit ;;
esac

# Whether a path may be removed, removed while it is an empty folder, or restored: is_agreed remove|rmdir|restore PATH.
is_agreed() {
  case "
$AGREED_NOW
" in *"
$1 $2
"*) return 0 ;; esac
  return 1
}

# The mount points below a folder, the deepest first. The table of mounts has real paths, with blanks in octal.
list_mounts() {
  folder=$(readlink -m "$1") awk '
    { gsub(/\\040/, " ", $2); gsub(/\\011/, "\t", $2); gsub(/\\134/, "\\", $2) }
    index($2, ENVIRON["folder"] "/") == 1 { found[++n] = $2 }
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

# Removes an empty folder that we made and no package brought. One that is a mount of its own stays.
drop_empty() {
  ! is_agreed remove "$1" || remove_empty "$1"
}

remove_empty() {
  [ -d "$1" ] && [ ! -L "$1" ] && [ -z "$(ls -A "$1")" ] || return 0
  ! mountpoint -q "$1" || return 0
  ! dpkg -S "$1" >/dev/null 2>&1 || return 0
  rmdir "$1"
  echo "changed: removed $1"
}

# Removes what is in a folder, which may be a link to a larger disk, or a disk of its own; the folder stays.
drop_inside() {
  is_agreed remove "$1" || return 0
  refuse_mounts "$1"
  for child in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    [ "${child##*/}" = lost+found ] || remove "$child"
  done
}

# Removes files and folders, or writes files again as they were before the first step that changed them.
drop() {
  for target in "$@"; do
    ! is_agreed remove "$target" || remove "$target"
    ! is_agreed rmdir "$target" || remove_empty "$target"
    ! is_agreed restore "$target" || python3 -I -c "$OWNERSHIP" restore "$target"
  done
}

# Removes the files that a pattern matches, where the pattern was agreed on.
drop_matches() {
  # shellcheck disable=SC2086 # a pattern
  ! is_agreed remove "$1" || remove $1
}

# Of a link the link goes, of a mount what is in it. Never goes into a mount below: a folder of the same file system that
# is mounted there looks to rm like one of its own.
remove() {
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
