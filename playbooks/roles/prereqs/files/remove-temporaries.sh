#!/bin/sh
# Removes what is in the folder that Ansible is told to use on hosts (gpustack/rollout/playbook.py). Nobody else works
# with it: there is one installation at a time. It is in the hands of its user, and what that user put in its place is
# deleted with no more rights than that user's.
for user in root ${SUDO_USER-}; do
  IFS=: read -r _ _ _ _ _ home _ <<ENTRY
$(getent passwd "$user")
ENTRY
  folder=$home/.ansible/gpustack
  [ -d "$folder" ] && [ ! -L "$folder" ] || continue
  runuser -u "$user" -- rm --recursive --force --one-file-system --verbose "$folder"/*
done
