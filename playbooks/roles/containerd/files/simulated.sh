# shellcheck shell=sh
# Refuses a mirror of simulated software that the spec does not allow: by its signed list, before anything of it is
# installed. Follows pinned.sh. Reads MIRROR (an address, or empty), KEYRING and SIMULATED.
if [ -n "$MIRROR" ] && [ "$SIMULATED" != allowed ]; then
  description=$(sums) || exit
  case $(echo "$description" | sed -n '1s/^# simulated: //p') in
    no) description= ;;
    yes) description="serves simulated GPU software" ;;
    *) description="does not say whether its GPU software is simulated" ;;
  esac
  if [ -n "$description" ]; then
    echo "$MIRROR $description; set source of the spec to another mirror or official, or source.simulated: allowed for a rehearsal (gpustack explain mirror-simulated)" >&2
    exit 1
  fi
fi
