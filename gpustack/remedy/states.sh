# shellcheck shell=sh
# The state of a thing of a host in one line: what two readings have in common exactly when nothing differs. Reads ROOT.

# Kind, mode, owner and content of a path in one line. A folder above it that is a link counts as well.
file_state() { # PATH
  if [ -L "$1" ]; then
    description="link $(stat -c '%u %g' -- "$1") $(readlink -- "$1" | tr '\t\n' '??')"
  elif [ -f "$1" ]; then
    sum=$(sha256sum <"$1") || { echo unknown; return; }
    description="file $(stat -c '%a %u %g' -- "$1") ${sum%% *}"
  elif [ -d "$1" ]; then
    description="folder $(stat -c '%a %u %g' -- "$1")"
  elif [ -e "$1" ]; then
    description=other
  else
    echo absent
    return
  fi
  folder=$(realpath -m -- "${1%/*}")
  [ "$folder" = "${1%/*}" ] || description="$description via $folder"
  printf '%s\n' "$description"
}

unit_state() { # UNIT
  case $(systemctl show --property ActiveState --value "$1" 2>/dev/null) in
    active | reloading | activating) echo active ;;
    failed) echo failed ;;
    inactive | deactivating) echo inactive ;;
    *) echo unknown ;;
  esac
}

state() { # KIND NAME
  case $1 in
    file | folder) file_state "$ROOT$2" ;;
    unit) unit_state "$2" ;;
    startup)
      answer=$(systemctl show --property UnitFileState --value "$2" 2>/dev/null) || answer=unknown
      printf '%s\n' "${answer:-absent}"
      ;;
    key)
      answer=$(sysctl -n "$2" 2>/dev/null | tr '\t' ' ') || :
      printf '%s\n' "${answer:-absent}"
      ;;
    *) echo unknown ;;
  esac
}
