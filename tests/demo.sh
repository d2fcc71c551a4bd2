#!/bin/sh
# make demo: a server on the playground and a window on it; without a display two headless clients
# play for 10 s and a summary is printed. Usage: tests/demo.sh BUILD_FOLDER
set -eu
build=$1
scene=shared/scenes/playground.json
out=$build/demo
mkdir -p "$out"
rm -f "$out"/*
server=
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
}
trap cleanup EXIT INT TERM

"$build/plenum-server" --listen 127.0.0.1:0 --local-role operator --record "$out/demo.plrec" $scene >"$out/server.out" 2>"$out/server.log" &
server=$!
port=
for _ in $(seq 100); do
    port=$(sed -n 's/^ready \([0-9]*\).*/\1/p' "$out/server.out")
    [ -z "$port" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$out/server.log" >&2; exit 1; }
    sleep 0.1
done
[ -n "$port" ] || { echo "the server did not start: see $out/server.log" >&2; exit 1; }

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    echo "server on 127.0.0.1:$port. Left-drag grabs, right-click pushes, F1 shows all controls."
    "$build/plenum-client" --name "${USER:-you}" "127.0.0.1:$port"
    kill "$server"; wait "$server"; server=
    echo "recorded: $out/demo.plrec   (watch it again: $build/plenum-client $out/demo.plrec)"
    exit 0
fi

echo "no display: two headless clients play for 10 s on 127.0.0.1:$port"
cat >"$out/drag.jsonl" <<'DO'
{"t":0.5,"grab":"box-1"}
{"t":1.0,"move":[0,2.5,4.5]}
{"t":3.0,"move":[2.5,2.0,1.5]}
{"t":4.5,"move":[-1.5,1.5,-5.0]}
{"t":6.5,"release":true}
{"t":7.0,"spawn":"ball","position":[0,6,0]}
DO
"$build/plenum-client" --headless --name hand --duration 10 --do "$out/drag.jsonl" \
    --report "$out/hand.json" "127.0.0.1:$port" 2>"$out/hand.log" &
hand=$!
"$build/plenum-client" --headless --name eyes --duration 10 --report "$out/eyes.json" \
    --screenshot "$out/demo.png" --at 4 --size 1280x720 "127.0.0.1:$port" 2>"$out/eyes.log" || {
    cat "$out/eyes.log" >&2; exit 1; }
wait $hand || { cat "$out/hand.log" >&2; exit 1; }
kill "$server"; wait "$server" || { cat "$out/server.log" >&2; exit 1; }
server=

# One number out of a report.
number() { sed -n "s/.*\"$2\": *\([-0-9.]*\).*/\1/p" "$out/$1.json" | head -n 1; }
first=$(number eyes tick_first); last=$(number eyes tick_last)
bytes=$(number eyes bytes_in); seconds=$(number eyes duration_s)
echo "ticks               $first to $last"
echo "snapshots received  $(number eyes snapshots) (watcher), $(number hand snapshots) (hand)"
awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "bandwidth           %.1f kbit/s per client\n", b * 8 / 1000 / s }'
echo "boxes moved         $(number eyes moved)"
echo "desyncs             $(number eyes desyncs)"
echo "recording           $out/demo.plrec"
echo "picture             $out/demo.png"
