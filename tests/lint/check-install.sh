#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What "meson install" puts where: completions where the shells of this distribution look, the module where its Python
# looks, and every page, example, preset and unit of the sources. Usage: check-install.sh SOURCE-ROOT BUILD-ROOT
set -u
source=$1 build=$2
meson=$(command -v /usr/bin/meson || command -v meson)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 failed=0

# ok PROMISE COMMAND...
ok() {
        local promise=$1 output
        shift
        n=$((n + 1))
        if output=$("$@" 2>&1); then
                echo "ok $n - $promise"
        else
                sed 's/^/# /' <<<"$output"
                echo "not ok $n - $promise"
                failed=1
        fi
}

# installs GLOB FOLDER [NAME]: each of these files of the sources is there as it is, below the prefix
installs() {
        local file missing=''
        for file in "$source"/$1; do
                cmp -s "$file" "$root/$2/${3:-${file##*/}}" || missing+=" ${file##*/}"
        done
        [ -z "$missing" ] || { echo "not in $root/$2:$missing"; return 1; }
}

python_finds_it() {
        local file=$tmp/$1 python=/usr/bin/python3
        [ -x "$python" ] || python=python3
        "$python" -c 'import sys; sys.exit(sys.argv[1] not in sys.path)' "/${1%/*}" &&
                PYTHONPATH=${file%/*} "$python" -c \
                        'import sys, desktrace; sys.exit(desktrace.__file__ != sys.argv[1])' "$file"
}

# says_so LANGUAGE: the installed program's help has a text as its installed catalogue translates it. Programs look for
# catalogues below the prefix, so ours are mounted there for it alone.
says_so() {
        local help
        # shellcheck disable=SC2016 # for the shell inside
        help=$(unshare --map-root-user --mount \
                sh -c 'mount --bind "$1" "$2" && LC_ALL=C.UTF-8 LANGUAGE=$3 exec "$4" --help' \
                sh "$root/share/locale" "$prefix/share/locale" "$1" "$root/bin/desktrace") || return
        python3 -c '
import gettext, sys
text = "Record to a trace file"
translated = gettext.GNUTranslations(open(sys.argv[1], "rb")).gettext(text)
sys.exit(f"{translated}: not in {sys.argv[2]}" if translated == text or translated not in sys.argv[2] else 0)' \
                "$root/share/locale/$1/LC_MESSAGES/desktrace.mo" "$help"
}

DESTDIR=$tmp "$meson" install -C "$build" --no-rebuild --quiet >"$tmp/log" 2>&1 ||
        { sed 's/^/# /' "$tmp/log"; echo 'Bail out! it cannot be installed'; exit 1; }
prefix=$("$meson" introspect --buildoptions "$build" |
        python3 -c 'import json, sys; print(*(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
root=$tmp$prefix
share=share

ok 'the pages' installs 'docs/*.md' $share/doc/desktrace/docs
ok 'their pictures' installs 'docs/*.svg' $share/doc/desktrace/docs
ok 'README and news' installs '[RN]E[AW]*.md' $share/doc/desktrace
ok 'the examples' installs 'examples/*-desktrace.*' $share/doc/desktrace/examples
ok 'their page' installs 'examples/README.md' $share/doc/desktrace/examples
ok "rules for polkit as examples" installs 'data/polkit/*.rules' $share/doc/desktrace/examples
ok 'manual pages of commands' installs 'docs/man/*.1' $share/man/man1
ok 'manual pages of services' installs 'docs/man/*.8' $share/man/man8
ok 'manual pages of functions' test -s "$root/$share/man/man3/dt_init.3" -a -s "$root/$share/man/man3/desktrace-start.3"
ok 'manual pages of formats' installs 'docs/man/*.5' $share/man/man5
ok 'presets' installs 'data/presets/*' $share/desktrace/presets
ok 'sockets' installs 'data/systemd/*.socket' lib/systemd/system
ok 'sockets of users' installs 'data/systemd/user/*.socket' lib/systemd/user
ok 'completions for bash' installs data/completions/desktrace.bash $share/bash-completion/completions desktrace
ok 'completions for fish' installs data/completions/desktrace.fish $share/fish/vendor_completions.d
zsh=site-functions
[ "$prefix" != /usr ] || [ ! -e /etc/debian_version ] || zsh=vendor-completions
ok "completions for zsh, in $zsh" installs data/completions/_desktrace $share/zsh/$zsh
module=$(cd "$tmp" && find . -name desktrace.py -path '*-packages/*' | sed 's|^\./||')
ok 'one Python module' test "$(wc -w <<<"$module")" = 1
if [ "$prefix" = /usr ]; then
        ok 'the Python module, where python3 looks' python_finds_it "$module"
fi
may_mount() {
        [ -d "$prefix/share/locale" ] && unshare --map-root-user --mount mount --bind /usr /usr 2>/dev/null
}
mounts=$(may_mount && echo yes)
for language in $(grep -v '^#' "$source/po/LINGUAS"); do
        if [ "$mounts" ]; then
                ok "the program speaks $language" says_so "$language"
        else
                n=$((n + 1))
                echo "ok $n - the program speaks $language # SKIP nothing may be mounted at $prefix/share/locale here"
        fi
done
echo "1..$n"
exit $failed
