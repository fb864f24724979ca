# shellcheck shell=sh disable=SC2034 # apt-install.sh reads PACKAGES
# Chooses the version of containerd.io where none is installed, and fetches its file: an index may name one that is not
# there (docker/for-linux issue 1557); then the one before it is taken. Sets PACKAGES for apt-install.sh, which says
# what is wrong where nothing can be fetched. Reads WANTED (2.3.6, that one alone, or a line as 2.3), MINIMUM (the first
# good patch of the line, as 2.3.5; may be empty) and PATCH (of the line, what the cluster is to have; may be empty). Says
# `changed: …` for what it did.

# Of the line from $1 on, with the cluster's patch first, then what is older, then what is newer.
list_versions() {
  apt-cache madison containerd.io | awk -v line="$WANTED." -v minimum="$1" -v patch="${PATCH:+$PATCH-}" '
    index($3, line) != 1 || $3 ~ /~(alpha|beta|rc)/ || seen[$3]++ {next}
    substr($3, length(line) + 1) + 0 < substr(minimum, length(line) + 1) + 0 {next}
    patch != "" && !found && index($3, patch) != 1 {newer = newer "\n" $3; next}
    {found = 1; print $3}
    END {print newer}'
}

fetch_newest() {
  missing_versions=
  for version in $(list_versions "$MINIMUM"); do
    if message=$(apt-get -qq --yes --no-install-recommends --download-only install "containerd.io=$version" 2>&1 >/dev/null); then
      PACKAGES="containerd.io=$version cri-tools"
      [ -z "$missing_versions" ] || echo "changed: containerd.io $version is taken; the index names files that are not there (404):$missing_versions"
      return
    fi
    case $message in *' 404 '*) missing_versions="$missing_versions $version" ;; *) return ;; esac
  done
}

case $WANTED in
  *.*.*) PACKAGES="containerd.io=$WANTED-* cri-tools" ;;
  *)
    PACKAGES="containerd.io=$WANTED.* cri-tools"
    case $(dpkg-query -Wf '${db:Status-Status}' containerd.io 2>/dev/null || :) in
      installed) PACKAGES="containerd.io cri-tools" ;;
      *)
        list=/etc/apt/sources.list.d/gpustack-containerd.sources
        set -- -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0
        # A file of somebody else may stand for it.
        [ -e "$list" ] || set --
        apt-get -qq "$@" update >/dev/null 2>&1 || :
        if [ -z "$(list_versions "$MINIMUM")" ] && [ -n "$(list_versions "")" ]; then
          echo "containerd.io on $(hostname): expected $MINIMUM or newer, offered $(list_versions "" | head -n 1) (gpustack explain containerd-offered)" >&2
          exit 1
        fi
        fetch_newest
        ;;
    esac
    ;;
esac
