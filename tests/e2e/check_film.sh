#!/usr/bin/env bash
# Renders a film of a second (its first moment, its last, and those between) with the real ffmpeg,
# and asks ffprobe what is in it.
# usage: tests/e2e/check_film.sh BUILD     run by make check-export, which installs ffmpeg
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$build/plenum-server" --log error --fast --ticks 60 --listen 127.0.0.1:0 --record "$work/a.plrec" \
    shared/scenes/cradle.json > "$work/out"
for ending in mp4 webm mkv gif; do
    "$build/plenum-client" "$work/a.plrec" --size 160x120 --fps 20 --render "$work/a.$ending"
    said=$(ffprobe -v error -count_frames -select_streams v:0 -of csv=p=0 \
        -show_entries stream=width,height,nb_read_frames "$work/a.$ending")
    [ "${said%,}" = 160,120,21 ] || { echo "$ending: $said, expected 160,120,21"; exit 1; }
done
