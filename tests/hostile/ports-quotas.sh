#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Points 4 and 7 on Perfetto's sockets: frames that never end, and a user with subordinate uids who takes all sessions
# there are. What one user may have is for all uids of an account.
# The checks call functions by name.
# shellcheck disable=SC2317,SC2154
# shellcheck source=tests/hostile/hostile-lib.sh
. "$(dirname "$0")/hostile-lib.sh"

[ "$(id -u)" = 0 ] || skip_all "needs root, to be several users"
[ -e /etc/subuid ] || skip_all "there is no /etc/subuid to put another one in the place of"
unshare -m true 2>/dev/null || skip_all "may not mount"

SOURCE=org.example.innocent
leaves_as() { consume_as "$1" leave $SOURCE "$2" 600000 2>&1 | grep -q '^left'; }

attacked_service() { # of attacked_ports: with a file of subordinate uids
        three_users
        echo "$bob:100000:65536" >"$tmp/subuid"
        # shellcheck disable=SC2016
        service_as=(unshare -m --propagation private sh -c 'mount --bind "$1" /etc/subuid && shift && exec "$@"' sh
                "$tmp/subuid" "${service_as[@]}")
        native_service
}
attacked_ports
innocent_records

# SERVICE_MESSAGE_BYTES_PER_USER_MAX is 16 MiB or more, of which these would be 100.
ram_mib=$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo)
may_have_mib=$((ram_mib / 256 > 16 ? ram_mib / 256 : 16))
for port in producer consumer; do
        port_socket=${port}_socket
        attacks_port unfinished "${!port_socket}" $((8 * (may_have_mib + 84)))
        ok "memory: frames that never end, on the $port port" eventually eventually grep -q attacked "$tmp/attacker"
        memory_is "memory: they take what one user may have" has_at_most $((memory_before + may_have_mib + 44))
        innocent_is_unharmed "memory: frames that never end, on the $port port"
        kill -KILL "$attacker"
        attack_is_over "memory: frames that never end, on the $port port, and the attacker is gone"
done

n_taken=0
for uid in 100000 100001 100002 100003 100004 100005 100006 100007; do
        for key in 1 2; do ! leaves_as $uid "key $key" || n_taken=$((n_taken + 1)); done
done
ok "quotas: eight subordinate uids have what one user has" test $n_taken -eq 8
gives "quotas: their account is told its limit" 'SERVICE_SESSIONS_PER_USER_MAX' consume_as $bob record $SOURCE
ok "quotas: root is not refused" leaves_as root "roots"
ok "quotas: nor another user" leaves_as 30001 "another's"
attack_is_over "quotas on Perfetto's socket"
finish
