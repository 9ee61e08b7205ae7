#!/bin/sh
# Installs IronCurtain for one user from a release, or removes it again.
#
#   sh install.sh [--prefix DIR] [TARBALL]     check the tarball, then install it (default prefix: ~/.local)
#   sh install.sh [--prefix DIR] --uninstall   remove exactly what was installed
#
# The tarball and SHA256SUMS lie beside this script unless TARBALL says otherwise. Nothing is downloaded,
# nothing outside the prefix is written, and your IronCurtain home is never touched.
set -eu

fail() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit 1; }

prefix=${HOME:-}/.local
mode=install
tarball=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) [ $# -ge 2 ] || fail '--prefix needs a directory' 'for example: sh install.sh --prefix ~/.local'
        prefix=$2; shift ;;
    --uninstall) mode=uninstall ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) fail "there is no option \`$1\`" 'see: sh install.sh --help' ;;
    *) tarball=$1 ;;
    esac
    shift
done
case $prefix in
/*) ;;
*) fail "the prefix \`$prefix\` is not an absolute path" 'give one with --prefix, for example --prefix "$HOME/.local"' ;;
esac
list=$prefix/share/ironcurtain/installed-files

remove_installed() {
    # The list is ours, and names files below the prefix only.
    while IFS= read -r file; do
        case $file in
        /* | *..*) fail "\`$list\` names \`$file\`, which no release has" 'remove the installed files by hand' ;;
        esac
        rm -f "$prefix/$file"
    done <"$list"
    rm -f "$list"
    rmdir "$prefix/share/ironcurtain" "$prefix/share/doc/ironcurtain" 2>/dev/null || true
}

if [ "$mode" = uninstall ]; then
    [ -f "$list" ] || fail "nothing is installed in $prefix" 'name the directory that it was installed into with --prefix'
    remove_installed
    echo "IronCurtain is removed from $prefix; your sessions and settings are kept in ${IRONCURTAIN_HOME:-$HOME/.ironcurtain}"
    exit 0
fi

here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$tarball" ]; then
    for file in "$here"/ironcurtain-*-x86_64-linux.tar.gz; do tarball=$file; done
fi
[ -f "$tarball" ] || fail "there is no tarball $tarball" 'put it and SHA256SUMS beside this script, or name it'
[ "$(uname -sm)" = 'Linux x86_64' ] || fail "this release is for Linux on x86-64, and this is $(uname -sm)" 'build it from source: see README.md'
sums=$(dirname "$tarball")/SHA256SUMS
[ -f "$sums" ] || fail "there is no $sums" 'download it from where the tarball came from'
name=$(basename "$tarball")
expected=$(awk -v name="$name" '$2 == name { print $1 }' "$sums")
[ -n "$expected" ] || fail "$sums does not name $name" 'download both files of the same release'
found=$(sha256sum "$tarball" | cut -d ' ' -f 1)
[ "$expected" = "$found" ] || fail "$tarball is not what SHA256SUMS says it is" 'download it again, and do not use this one'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -xzf "$tarball" -C "$work"
top=$work/${name%.tar.gz}
[ -x "$top/bin/ironcurtain" ] || fail "$tarball holds no program" 'download it again'

[ -f "$list" ] && remove_installed
(cd "$top" && find . -type f | sed 's|^\./||' | sort) >"$work/files"
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    # A program that runs cannot be written to, but its name can be given to another.
    cp "$top/$file" "$prefix/$file.new"
    mv -f "$prefix/$file.new" "$prefix/$file"
done <"$work/files"
mkdir -p "$prefix/share/ironcurtain"
cp "$work/files" "$list"

echo "installed $("$prefix/bin/ironcurtain" --version) as $prefix/bin/ironcurtain"
case :${PATH:-}: in
*":$prefix/bin:"*) ;;
*) echo "note: $prefix/bin is not on your PATH; add this line to your shell's profile: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo 'next: ironcurtain doctor'
