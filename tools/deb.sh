#!/bin/sh
# A Debian package of what was built: `make deb` calls
#     deb.sh MAKE VERSION OUT-FOLDER
# in the build folder. Everything goes below /usr, whatever configure was told.
set -eu
make=$1 version=$2 out=$3
command -v dpkg-deb >/dev/null 2>&1 || {
    echo "make deb needs dpkg-deb (Debian: dpkg)" >&2
    exit 3
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM
root=$work/root
umask 022
arch=$(dpkg --print-architecture)
"$make" -s install prefix=/usr exec_prefix=/usr DESTDIR="$root" >/dev/null
strip "$root/usr/bin/dcc"
find "$root/usr/share/man" -name '*.[1-9]' -exec gzip -9n {} +

# the packages that own the libraries which dcc needs
needed=$(ldd "$root/usr/bin/dcc" | awk '$3 ~ "^/" { print $3 }' |
    while read -r library; do
        for path in "$library" "$(readlink -f "$library")" "/usr$library"; do
            dpkg-query -S "$path" 2>/dev/null && break
        done | sed -n '1s/:.*//p'
    done | sort -u | paste -sd, | sed 's/,/, /g')
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: dcc
Version: $version
Architecture: $arch
Maintainer: the dcc authors <dcc@localhost>
Section: devel
Priority: optional
Depends: $needed
Recommends: g++
Suggests: nvidia-cuda-toolkit, cmake, python3
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Description: compiles tensor programs to readable CUDA C
 dcc reads a small language of tensor expressions, fuses statements into
 kernels under an analytic performance model, and writes one .cu and one .h
 that nvcc compiles.
END
package=dcc_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$work/$package" >/dev/null
mv "$work/$package" "$out/"
echo "$out/$package"
