#!/usr/bin/env bash
# Checks deploy/ with the tools that operators have: systemd-analyze and promtool.
# usage: deploy/check.sh BUILD     run by make check-deploy, which installs the tools
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# verify looks for the program where the unit says.
for unit in deploy/systemd/*.service deploy/systemd/*.socket; do
    sed "s,/usr/bin/plenum-,$PWD/$build/plenum-," "$unit" > "$work/${unit##*/}"
done
for unit in plenum-server@a.service plenum-server@a.socket plenum-lobby.service; do
    said=$(systemd-analyze verify --man=no "$work/$unit" 2>&1)
    [ -z "$said" ] || { echo "$said"; exit 1; }
done
# Two worlds at once, in one transaction.
said=$(systemd-analyze verify --man=no "$work/plenum-server@a.service" "$work/plenum-server@b.service" 2>&1)
[ -z "$said" ] || { echo "$said"; exit 1; }
for unit in plenum-server@.service plenum-lobby.service; do
    systemd-analyze security --no-pager --offline=true --threshold=15 "$work/$unit" | tail -n 1
done

# The example is a configuration that the server takes.
sed -e "s,/usr/share/plenum,$PWD/shared," -e 's/^listen = .*/listen = 127.0.0.1:0/' -e '/^http/d' \
    deploy/systemd/example.conf > "$work/example.conf"
"$build/plenum-server" --config "$work/example.conf" --ticks 10 --fast --log warn | grep -q '^ready '

# So is that of the manifest, and all arguments there are options.
sed -n '/^  town.conf: |/,/^---/{s/^    //p}' deploy/kubernetes/plenum.yaml | sed "s,/usr/share/plenum,$PWD/shared," > "$work/town.conf"
"$build/plenum-server" --config "$work/town.conf" --listen 127.0.0.1:0 --ticks 10 --fast --log warn | grep -q '^ready '
help=$("$build/plenum-server" --help)
for option in $(grep -hE '^ +args:' deploy/kubernetes/*.yaml | grep -oE -- '--[a-z-]+'); do
    grep -q -- "$option " <<< "$help" || { echo "no option $option" >&2; exit 1; }
done
python3 -c 'import sys, yaml; [list(yaml.safe_load_all(open(name))) for name in sys.argv[1:]]' deploy/kubernetes/*.yaml

# Alerts, their tests, and the example of Prometheus' own configuration.
promtool check config deploy/observe/prometheus.yml
promtool test rules deploy/observe/plenum.rules.test.yml
echo "deploy: ok"
