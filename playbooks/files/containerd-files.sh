# shellcheck shell=sh
# Read before scripts that change files of containerd, or restart it. With files that it refuses it would exit, and its node
# would become NotReady: so it is asked first, and files that it refuses become what they were.

backup=/run/gpustack-containerd

# Keeps the files as they are.
keep_containerd_files() {
  rm -rf --one-file-system "$backup"
  mkdir -m 0700 "$backup" "$backup/conf.d"
  (
    cd /etc/containerd 2>/dev/null || exit 0
    for file in config.toml conf.d/*.toml; do
      [ ! -f "$file" ] || cp -a "$file" "$backup/$file"
    done
  )
}

# Puts kept files in place again, with their times: the running containerd has loaded them. Says whether it did.
restore_containerd_files() {
  [ -d "$backup" ] || return 1
  (
    cd "$backup" || exit
    for file in config.toml conf.d/*.toml; do
      [ ! -f "$file" ] || cmp -s "$file" "/etc/containerd/$file" || cp -a "$file" "/etc/containerd/$file"
    done
    for file in conf.d/gpustack.toml conf.d/gpustack-nvidia.toml; do
      [ -e "$file" ] || rm -f "/etc/containerd/$file"
    done
  )
  rm -rf --one-file-system "$backup"
}

# Says in containerd's words why it refuses its files, if it does. It migrates and merges them as for a start.
find_containerd_refusal() {
  command -v containerd >/dev/null || return 0
  message=$(containerd config dump 2>&1 >/dev/null) || {
    printf '%s\n' "${message:-it gave no answer}" | tail -n 1
  }
}

# Ends with 1 where containerd refuses its files. The kept ones are in place then.
accept_containerd_files() {
  refusal=$(find_containerd_refusal)
  [ -n "$refusal" ] || { rm -rf --one-file-system "$backup"; return 0; }
  present="its files were left as they are"
  ! restore_containerd_files || present="its files are as they were before"
  echo "containerd on $(hostname) refuses its files: $refusal; it was not restarted, and $present (gpustack explain containerd-files-refused)" >&2
  return 1
}

restart_containerd() {
  accept_containerd_files || return 1
  systemctl daemon-reload
  systemctl restart containerd
}
