#!/usr/bin/env bash
# Installs the packages in a bare Debian, runs what they brought, and removes them again.
# usage: deploy/check_deb.sh FOLDER_OF_DEBS     needs root and debootstrap; MIRROR: of Debian
set -euo pipefail
debs=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
mirror=${MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
base=$debs/bare.tar
# The bare system is kept: a second run starts from it.
if [ ! -s "$base" ]; then
    debootstrap --variant=minbase bookworm "$work/bare" "$mirror" > "$work/log" || { tail "$work/log"; exit 1; }
    tar -C "$work/bare" -cf "$base" .
    rm -rf "$work/bare"
fi
mkdir "$root" && tar -C "$root" -xf "$base"
cp /etc/resolv.conf "$root/etc/resolv.conf"
# How this machine reaches the archive.
for file in $(grep -ls '^Acquire::' /etc/apt/apt.conf.d/*); do cp "$file" "$root/etc/apt/apt.conf.d/"; done
mkdir "$root/debs" && cp "$debs"/*.deb "$root/debs/"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

inside apt-get update -qq
inside sh -c 'apt-get install -y -qq --no-install-recommends /debs/*.deb' > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
inside getent passwd plenum
for program in plenum-server plenum-client plenum-tool plenum-bench; do
    inside "$program" --version
done
# A world of the example, as the unit's user, in the unit's places.
inside sh -c 'cp /usr/share/doc/plenum-server/examples/example.conf /etc/plenum/a.conf
    sed -i -e "s/^listen.*/listen = 127.0.0.1:0/" -e /^http/d /etc/plenum/a.conf
    install -d -o plenum -g plenum -m 750 /var/lib/plenum /var/lib/plenum/a'
inside su plenum -s /bin/sh -c 'cd /var/lib/plenum/a && for i in 1 2; do STATE_DIRECTORY=$PWD plenum-server --config /etc/plenum/a.conf \
    --checkpoint checkpoints --resume --record recording.plrec --ticks 60 --fast || exit 1; done; plenum-tool info recording.plrec > info && plenum-server --verify recording.plrec' 2>&1 | tee "$work/said"
grep -q 'continuing at tick 60' "$work/said"
inside sh -c 'test -s /usr/share/man/man1/plenum-server.1.gz && test -s /lib/systemd/system/plenum-server@.service && test -d /usr/share/doc/plenum-doc'

# A program with the library: compiled here, with the headers and the library of the package.
cat > "$work/one.c" <<'END'
#include "server/author/scene_load.h"
#include "server/world/world.h"
int printf(const char *, ...);
int main(int argc, char **argv)
{
    ErrorText error = {0};
    Scene *scene = argc > 1 ? scene_load(argv[1], &error) : NULL;
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    for (int i = 0; world != NULL && i < 60; i++) {
        world_tick(world, NULL, 0);
    }
    printf("%s hash %llx\n", error.text, world != NULL ? (unsigned long long)world_hash(world) : 0);
    world_destroy(world);
    scene_destroy(scene);
    return world == NULL;
}
END
dpkg-deb -x "$debs"/libplenum-dev_*.deb "$work/dev"
lib=$(dirname "$(find "$work/dev" -name libplenum.a)")
flags=$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=prefix="$work/dev/usr" --define-variable=libdir="$lib" --cflags --libs plenum)
# shellcheck disable=SC2086  # flags are words
gcc -o "$work/one" "$work/one.c" $flags
mine=$("$work/one" shared/scenes/playground.json)
echo "library:$mine"
server=$(inside plenum-server --listen 127.0.0.1:0 --ticks 60 --fast --hash --log error /usr/share/plenum/scenes/playground.json | sed -n 's/^hash 60 0*//p')
[ "$mine" = " hash $server" ]

# The guide: its blocks marked sh, in order, in one shell.
install -m 755 deploy/guide_systemctl.sh "$root/usr/local/bin/systemctl"
awk '/^```sh$/ {on = 1; next} /^```$/ {on = 0} on' deploy/README.md > "$root/debs/guide.sh"
inside apt-get install -y -qq --no-install-recommends curl > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
# It installs packages of its own accord, and stops worlds that a failure would leave.
mount_proc() { mount -t proc proc "$root/proc"; }
mount_proc
# A bare Debian has no kill but the shell's.
stop_worlds() { chroot "$root" sh -c 'for file in /run/plenum-*.pid; do kill "$(cat "$file")"; done' 2>/dev/null || true; }
trap 'stop_worlds; umount "$root/proc"; rm -rf "$work"' EXIT
inside sh -c 'cd /debs && PATH=/usr/local/bin:$PATH sh -eux guide.sh' > "$work/guide.log" 2>&1 || { tail -n 60 "$work/guide.log"; exit 1; }
# What the stand-in and root left is not the packages'.
rm -rf "$root/usr/local/bin/systemctl" "$root"/run/plenum* "$root/root/.local"
echo "guide: $(grep -c '^+ ' "$work/guide.log") commands"

inside sh -c 'apt-get purge -y -qq plenum-server plenum-client plenum-tools plenum-doc libplenum-dev' > "$work/log" 2>&1 || { tail "$work/log"; exit 1; }
left=$(inside sh -c 'find / -xdev \( -path /proc -o -path /sys -o -path /debs \) -prune -o -name "*plenum*" -print | grep -v /var/lib/plenum')
# The world, the user's configuration and the user stay; nothing of the packages does.
[ -s "$root/var/lib/plenum/a/checkpoints/checkpoint.plworld" ]
left=$(grep -v -e '^/etc/plenum' -e '^/var/cache' -e '^/var/lib/apt' -e '^/var/log' <<< "$left" || true)
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
echo "packages: ok"
