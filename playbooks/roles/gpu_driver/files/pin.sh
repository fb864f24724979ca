# shellcheck shell=sh
# Chooses the package that binds apt to VERSION, or to its branch where the repository has none of the version itself.
# Sets PACKAGES for apt-install.sh; reads SOURCES as that does. It is a run of apt of its own: in the run that installs the
# driver, apt would choose versions before it knows of the pin.
PACKAGES=
for pin in "nvidia-driver-pinning-$VERSION" "nvidia-driver-pinning-${VERSION%%.*}"; do
  case $(dpkg-query -Wf '${db:Status-Status}' "$pin" 2>/dev/null || :) in installed) PACKAGES=$pin; break ;; esac
done
# Only what was fetched before is looked at: apt-install.sh says what is wrong with the repository.
if [ -z "$PACKAGES" ]; then
  PACKAGES=nvidia-driver-pinning-$VERSION
  has() { apt-cache show "$1" >/dev/null 2>&1; }
  list=/etc/apt/sources.list.d/gpustack-$SOURCES.sources
  set -- -o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0
  # A file of somebody else may stand for it.
  [ -e "$list" ] || set --
  has "$PACKAGES" || apt-get -qq "$@" update >/dev/null 2>&1 || :
  has "$PACKAGES" || ! has "nvidia-driver-pinning-${VERSION%%.*}" || PACKAGES=nvidia-driver-pinning-${VERSION%%.*}
fi
