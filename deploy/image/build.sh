#!/usr/bin/env bash
# Builds the container image of the server, from scratch: the program, the libraries that it needs,
# its scenes, nothing else (no shell, no package manager).
# usage: deploy/image/build.sh PROGRAM OUT
#   PROGRAM  a plenum-server built with PREFIX=/usr (make image: the one of make deb)
#   OUT      an empty folder: OUT/root is the file tree, OUT/plenum-server.tar the image (OCI archive)
# Needs buildah and, of libicu-dev, icupkg and genccode. It asks no registry.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$1
out=$2
root=$out/root
mkdir -p "$root"/{usr/bin,usr/share/plenum,var/lib/plenum,tmp,etc}
root=$(cd "$root" && pwd)

install -m 755 "$program" "$root/usr/bin/plenum-server"
strip "$root/usr/bin/plenum-server"
cp -r shared/scenes "$root/usr/share/plenum/scenes"
find "$root/usr/share/plenum" -name '*.md' -delete
printf 'plenum:x:65532:65532::/var/lib/plenum:/usr/sbin/nologin\n' > "$root/etc/passwd"
printf 'plenum:x:65532:\n' > "$root/etc/group"
chmod 1777 "$root/tmp"
chown 65532:65532 "$root/var/lib/plenum"

# Libraries, and the loader where the program looks for it.
libraries=$(ldd "$program" | awk '{for (i = 1; i <= NF; i++) if ($i ~ "^/") print $i}')
for library in $libraries; do
    install -D -m 644 "$(readlink -f "$library")" "$root$library"
done
loader=$(grep '/ld-' <<< "$libraries")
chmod 755 "$root$loader"

# 30 of the 31 MB of ICU's data are for languages and calendars. The server compares names: it needs
# normalization and the table of look-alikes.
data=$(grep libicudata <<< "$libraries")
version=$(basename "$data" | sed 's/.*\.so\.//')
icu=$out/icu
mkdir -p "$icu"
objcopy -O binary --only-section=.rodata "$data" "$icu/icudt${version}l.dat"
printf 'confusables.cfu\nnfkc.nrm\nnfkc_cf.nrm\n' > "$icu/wanted.txt"
PATH=$PATH:/usr/sbin
icupkg -d "$icu" -x "$icu/wanted.txt" "$icu/icudt${version}l.dat"
mkdir -p "$icu/small"
# Its entries are named after the file.
(cd "$icu" && icupkg -a wanted.txt -s . new "small/icudt${version}l.dat")
genccode -f small -e "icudt$version" -a gcc -d "$icu" "$icu/small/icudt${version}l.dat" > /dev/null
gcc -shared -Wl,-soname,"libicudata.so.$version" -o "$root$data" "$icu/small.S"
strip "$root$data"

# What the image must be able to do is tried before it is one.
chroot "$root" /usr/bin/plenum-server --listen 127.0.0.1:0 --ticks 120 --fast --log warn \
    /usr/share/plenum/scenes/playground.json | grep -q '^ready '
rm -rf "$root/.local"

bytes=$(du -sb "$root" | cut -f1)
echo "image: $((bytes / 1000000)) MB unpacked"
[ "$bytes" -le 40000000 ] || { echo "image: more than 40 MB" >&2; exit 1; }

export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=${STORAGE_DRIVER:-vfs}
# Storage of its own, so that nothing of this stays on the machine.
buildah="buildah --root $out/storage --runroot $out/run"
container=$($buildah from scratch)
$buildah copy -q "$container" "$root" / > /dev/null
$buildah config --user 65532:65532 --workingdir /var/lib/plenum --env STATE_DIRECTORY=/var/lib/plenum \
    --port 7340/udp --port 9340/tcp --volume /var/lib/plenum --stop-signal SIGTERM \
    --label org.opencontainers.image.title=plenum-server \
    --entrypoint '["/usr/bin/plenum-server", "--http", "0.0.0.0:9340", "--checkpoint", "checkpoints", "--resume"]' \
    --cmd /usr/share/plenum/scenes/playground.json "$container"
$buildah commit -q "$container" "oci-archive:$out/plenum-server.tar:plenum-server" > /dev/null
rm -rf "$out/storage" "$out/run"
ls -l "$out/plenum-server.tar"
