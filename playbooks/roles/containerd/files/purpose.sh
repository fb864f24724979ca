# shellcheck shell=sh
# Refuses a mirror of stand-ins where the spec does not say that this is a lab: by its signed list, before anything of it
# is installed. Follows pinned.sh. Reads MIRROR (an address, or empty), KEYRING and PURPOSE.
if [ -n "$MIRROR" ] && [ "$PURPOSE" != lab ]; then
  served=$(sums) || exit
  served=$(echo "$served" | sed -n '1s/^# purpose: //p')
  if [ "$served" != production ]; then
    echo "$MIRROR is for ${served:-an unknown purpose}, not for production: a bundle's GPU parts are stand-ins; set source of the spec to another mirror or official, or source.purpose: lab for a rehearsal (gpustack explain mirror-of-stand-ins)" >&2
    exit 1
  fi
fi
