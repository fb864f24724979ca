# shellcheck shell=sh
# Takes things of a host back. Follows states.sh and containerd-files.sh; FIX is the folder of the fix.

leave() { printf 'left\t%s\t%s\t%s\n' "$kind" "$name" "$1"; }

restore() {
  printf '%s\n' "$CHANGES" >"$FIX/changes"
  while IFS=$TAB read -r kind name before current certain; do
    [ -n "$kind" ] || continue
    if [ "$(state "$kind" "$name")" != "$current" ]; then
      leave 'it was changed at this moment'
      continue
    fi
    echo "$name" >>"$FIX/restored"
    case $kind in
      file) restore_file ;;
      folder) restore_folder ;;
      unit) restore_unit ;;
      startup) restore_startup ;;
      key)
        sysctl -qw "$name=$before"
        printf 'did\tset %s = %s\n' "$name" "$before"
        ;;
    esac
  done <"$FIX/changes"
  rm "$FIX/changes"
  reload_readers
}

# A person may have written it after the play had, before the record was complete: what the play writes is not known.
keep_present() {
  [ "$certain" = no ] && [ "$current" != absent ] || return 0
  mkdir -p "$FIX/after${name%/*}"
  cp -aT --remove-destination -- "$path" "$FIX/after$name"
  printf 'kept\t%s\n' "$name"
}

restore_file() {
  path=$ROOT$name
  case $current in
    'file '* | 'link '* | absent) ;;
    *) leave 'it is no file any more'; return ;;
  esac
  if [ "$before" = absent ]; then
    keep_present
    rm -f -- "$path"
    printf 'did\tremoved %s\n' "$name"
    return
  fi
  if [ "$(file_state "$FIX/before$name")" != "${before%% via /*}" ]; then
    leave 'its copy is not what the record says'
    return
  fi
  [ -d "${path%/*}" ] || { leave 'its folder is gone'; return; }
  fresh=${path%/*}/.gpustack-$ID
  rm -f -- "$fresh"
  cp -aT -- "$FIX/before$name" "$fresh"
  [ -L "$fresh" ] || sync "$fresh"
  if [ "$(state file "$name")" != "$current" ]; then
    rm -f -- "$fresh"
    leave 'it was changed at this moment'
    return
  fi
  keep_present
  mv -fT -- "$fresh" "$path"
  sync "${path%/*}"
  printf 'did\trestored %s\n' "$name"
}

restore_folder() {
  path=$ROOT$name
  if [ "$before" = absent ]; then
    if rmdir -- "$path" 2>/dev/null; then printf 'did\tremoved %s\n' "$name"; else leave 'it is not empty'; fi
    return
  fi
  # shellcheck disable=SC2086 # words: folder MODE OWNER GROUP
  set -- $before
  [ -e "$path" ] || mkdir -- "$path"
  chown "$3:$4" -- "$path"
  chmod "$2" -- "$path"
  printf 'did\trestored %s\n' "$name"
}

restore_unit() {
  case $before in
    # Its file may be another now.
    active) systemctl daemon-reload; systemctl start "$name"; printf 'did\tstarted %s\n' "$name" ;;
    *) systemctl stop "$name"; printf 'did\tstopped %s\n' "$name" ;;
  esac
}

restore_startup() {
  case $before/$current in
    disabled/enabled | absent/enabled) systemctl --quiet disable "$name"; printf 'did\tdisabled %s\n' "$name" ;;
    enabled/disabled) systemctl --quiet enable "$name"; printf 'did\tenabled %s\n' "$name" ;;
    *) leave "it was $before" ;;
  esac
}

# A daemon that does not start with the files that it had is as it was.
reload_readers() {
  [ -e "$FIX/restored" ] || return 0
  if grep -q '^/\(etc\|usr/lib\)/systemd/system/' "$FIX/restored"; then systemctl daemon-reload; printf 'did\treloaded systemd\n'; fi
  for unit in containerd kubelet prometheus prometheus-alertmanager; do
    ! grep -q "^/etc/systemd/system/$unit\.service\.d/" "$FIX/restored" || restart "$unit"
  done
  if grep -q '^/etc/containerd/' "$FIX/restored"; then restart containerd; fi
  if grep -q '^/var/lib/kubelet/' "$FIX/restored"; then restart kubelet; fi
  if grep -q '^/etc/NetworkManager/' "$FIX/restored"; then systemctl reload NetworkManager || :; printf 'did\treloaded NetworkManager\n'; fi
  if grep -q '^/etc/systemd/network/' "$FIX/restored" && systemctl --quiet is-active systemd-networkd; then
    systemctl reload systemd-networkd || :
    printf 'did\treloaded systemd-networkd\n'
  fi
  if grep -q '^/etc/firewalld/' "$FIX/restored"; then firewall-cmd --quiet --reload || :; printf 'did\treloaded firewalld\n'; fi
  if grep -q '^/etc/ufw/' "$FIX/restored" && ufw status | grep -q '^Status: active'; then
    ufw reload >/dev/null || :
    printf 'did\treloaded ufw\n'
  fi
  for name in metrics node-ports; do remove_table "$name"; done
}

# A table outlives the unit that loads it. Where the fix brought what loads it, the table is the fix's, too.
remove_table() {
  loader=/usr/local/lib/gpustack/firewall-$1
  grep -qx "$loader" "$FIX/restored" && [ ! -e "$ROOT$loader" ] || return 0
  table=gpustack_$(printf '%s' "$1" | tr - _)
  nft list table inet "$table" >/dev/null 2>&1 || return 0
  nft delete table inet "$table"
  printf 'did\tremoved nft table inet %s\n' "$table"
}

restart() {
  systemctl --quiet is-active "$1" || return 0
  if [ "$1" = containerd ]; then
    refusal=$(find_containerd_refusal)
    [ -z "$refusal" ] || { kind=unit name=$1; leave "it runs on, since it refuses its files: $refusal"; return 0; }
  fi
  systemctl restart "$1" || :
  printf 'did\trestarted %s\n' "$1"
}
