#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# scripts/install-packages with package managers that only say what they are asked. Usage: check-packages.sh SOURCE-ROOT
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/scripts" "$tmp/tools"
cp "$1/scripts/install-packages" "$tmp/scripts/"
cat >"$tmp/scripts/packages" <<'END'
[build]
here
away        # for a reason
old?        # where there is one
[fedora]
here
away
[arch]
here
away
[lint]
old?
END
for program in bash cat dirname id mktemp realpath rm sed sleep; do
        ln -s "$(command -v $program)" "$tmp/tools/"
done
n=0 failed=0

# manager NAME COMMANDS: a program of that name, for the machines that have one
manager() {
        printf '#!/bin/bash\n%s\n' "$2" >"$tmp/$1"
        chmod 755 "$tmp/$1"
}
manager dpkg-query '[ "${*: -1}" != here ] || echo -n installed'
manager apt-cache '[ "${*: -1}" != old ] || [ -e "$OLD" ]'
manager apt-get 'echo "apt-get $*" >>"$LOG"'
manager rpm '[ "${*: -1}" = here ]'
manager dnf 'exit 1'
manager pacman '[ "${*: -1}" = here ]'

# gives PROMISE TEXT MANAGERS SECTIONS...: with these managers, as this user or with an id of 0
gives() {
        local promise=$1 wanted=$2 managers=$3 manager output
        shift 3
        rm -rf "${tmp:?}/bin" "$tmp/log"
        mkdir "$tmp/bin"
        for manager in $managers; do ln -s "$tmp/$manager" "$tmp/bin/"; done
        output=$(PATH=$tmp/bin:$tmp/tools LOG=$tmp/log OLD=$tmp/old bash "$tmp/scripts/install-packages" "$@" 2>&1)
        output+=$(cat "$tmp/log" 2>/dev/null)
        n=$((n + 1))
        if [[ $output == *"$wanted"* ]]; then
                echo "ok $n - $promise"
        else
                sed 's/^/# /' <<<"$output"
                echo "not ok $n - $promise"
                failed=1
        fi
}

debian='dpkg-query apt-cache apt-get'
rm "$tmp/tools/id"
manager id 'echo 0'
gives 'what is missing is installed' 'install -y --no-install-recommends away' "$debian id" build
gives 'what this Debian does not have is left out, and named' 'there is no old here' "$debian id" build
touch "$tmp/old"
gives 'what it has is installed' 'install -y --no-install-recommends away old' "$debian id" build
gives 'also on its own' 'install -y --no-install-recommends old' "$debian id" lint
manager id 'echo 1000'
gives 'another user is told what is missing' 'missing packages: away' "$debian id" build
gives 'Fedora is told its command' 'dnf install away' 'rpm dnf id' build
gives 'Arch Linux is told its command' 'pacman -S away' 'pacman id' build
gives 'others are told where to look' 'not a Debian' 'id' build
echo "1..$n"
exit $failed
