#!/bin/sh
# Stands in for systemctl where systemd does not run: starts the command of plenum-server@NAME, or of
# plenum-lobby, as its user in its folders, and ends it as systemd does. For check_deb.sh only.
set -eu
verb= name= unit= user=
for word in "$@"; do
    case $word in
        plenum-server@*) name=${word#plenum-server@} unit=plenum-server@ user=plenum ;;
        plenum-lobby*) name=lobby unit=plenum-lobby user=nobody ;;
        -*) ;;
        *) verb=$word ;;
    esac
done
[ -n "$name" ] || exit 0
name=${name%.service}
state=/var/lib/plenum/$name
pid_file=/run/plenum-$name.pid

start() {
    [ "$user" != plenum ] || install -d -o plenum -g plenum -m 750 /var/lib/plenum "$state" "$state/recordings" \
        "$state/checkpoints" /run/plenum "/run/plenum/$name"
    command=$(sed -e ':a' -e '/\\$/N' -e 's/\\\n//' -e 'ta' "/lib/systemd/system/$unit.service" |
        sed -n -e "s/%i/$name/g" -e 's/^ExecStart=//p')
    [ "$user" != plenum ] || cd "$state"
    # shellcheck disable=SC2086  # words
    setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups env STATE_DIRECTORY="$state" $command > "/run/plenum-$name.log" 2>&1 &
    echo $! > "$pid_file"
    for i in $(seq 100); do
        ! grep -q '^ready ' "/run/plenum-$name.log" || return 0
        sleep 0.1
    done
    cat "/run/plenum-$name.log" >&2
    exit 1
}
stop() {
    [ -f "$pid_file" ] || return 0
    kill "$(cat "$pid_file")"
    while kill -0 "$(cat "$pid_file")" 2>/dev/null; do sleep 0.1; done
    rm "$pid_file"
}
case $verb in
    enable | start) start ;;
    disable | stop) stop ;;
    restart | try-restart) stop; start ;;
    is-active) kill -0 "$(cat "$pid_file")" && echo active ;;
    *) ;;
esac
