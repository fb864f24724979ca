#!/bin/sh
# Lets promtool and amtool read configurations before a program does. Reads FILES (paths). Without the tools, which come
# with the packages, there is nothing yet that could be started with them.
set -eu
for file in $FILES; do
  case $file in
    */prometheus-*) tool=promtool subcommand='check config' ;;
    */alertmanager-*) tool=amtool subcommand=check-config ;;
    *) continue ;;
  esac
  command -v "$tool" >/dev/null || continue
  # shellcheck disable=SC2086 # words
  message=$("$tool" $subcommand "$file" 2>&1) || {
    echo "$tool refuses $file, and nothing was started with it (gpustack explain standalone-configuration-refused): $message" >&2
    exit 1
  }
done
