#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A user arms all programs of the own session for recordings of their heaps: the session begins as ever, and what runs
# in it can be looked into at any time.
. ./lib.sh

library=$(echo /usr/lib/*/desktrace/libdesktrace-heap.so)
uid=$(id -u alice)

# A program that allocates, started by the user's manager before anybody records.
cat >/usr/local/bin/keeps-allocating <<'END'
#!/bin/sh
while :; do
        printf '%0200000d' 1 >/dev/null
        set -- "$(printf '%050000d' 1)"
        sleep 0.02
done
END
chmod 755 /usr/local/bin/keeps-allocating

ok 'the library is installed' test -e "$library"
as alice mkdir -p /home/alice/.config/environment.d
echo "LD_PRELOAD=$library" | as alice tee /home/alice/.config/environment.d/50-heap.conf >/dev/null
ok 'an armed session begins' systemctl restart "user@$uid.service"
ok 'with its bus' within 20 as alice busctl --user list
passes_on() {
        as alice systemctl --user show-environment | grep -q '^LD_PRELOAD='
}
ok 'its manager passes the library on' within 10 passes_on
ok 'a program of it is started' as alice systemd-run --user --unit=armed /usr/local/bin/keeps-allocating
is_armed() {
        grep -q libdesktrace-heap.so "/proc/$(as alice systemctl --user show -P MainPID armed.service)/maps"
}
ok 'with the library' within 10 is_armed

records() {
        local try status
        for try in 1 2 3 4 5; do
                status=0
                as alice desktrace --user record -p apps --heap=1K -t 2s -f -o /home/alice/heap.pftrace || status=$?
                [ "$status" = 0 ] || [ "$status" = 6 ] || return 1
                [ "$(as alice desktrace query --csv --no-legend /home/alice/heap.pftrace \
                        "SELECT count(*) > 0 FROM heap_site JOIN process p USING (upid) WHERE p.name = 'sh'")" != 1 ] ||
                        return 0
        done
        echo "its heap is in none of $try recordings"
        return 1
}
ok 'and its heap is recorded while it runs' records
ok 'nothing in the session has failed' test "$(as alice systemctl --user --failed --no-legend | wc -l)" = 0
ok 'the session ends as ever' systemctl stop "user@$uid.service"
finish
