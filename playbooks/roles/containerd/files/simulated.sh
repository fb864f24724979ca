# shellcheck shell=sh
# Refuses a mirror of simulated software that the spec does not allow: by its signed list, before anything of it is
# installed. Follows pinned.sh. Reads MIRROR (an address, or empty), KEYRING and SIMULATED.
if [ -n "$MIRROR" ] && [ "$SIMULATED" != allowed ]; then
  served=$(sums) || exit
  case $(echo "$served" | sed -n '1s/^# simulated: //p') in
    no) served= ;;
    yes) served="serves simulated GPU software" ;;
    *) served="does not say whether its GPU software is simulated" ;;
  esac
  if [ -n "$served" ]; then
    echo "$MIRROR $served; set source of the spec to another mirror or official, or source.simulated: allowed for a rehearsal (gpustack explain mirror-simulated)" >&2
    exit 1
  fi
fi
