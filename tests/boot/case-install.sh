#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The README's commands to install the sources in $PROJECT, word for word, by a user with sudo; then others record.
# tests/machines/install.sh boots it.
. ./lib.sh

PROJECT=/srv/desktrace
NATIVE=/run/desktrace/native.sock
EXAMPLE=$PROJECT/build/examples/hello-desktrace

# The first block below "## Install".
readme_commands() {
        sed -n '/^## Install$/,$p' $PROJECT/README.md | sed -n '/^```sh$/,/^```$/p' | sed '/^```$/q' | sed '/^```/d'
}

install_by_alice() {
        readme_commands | as alice sh -euc 'cd "$0" && sudo -s' $PROJECT
}

record() {
        as "$1" desktrace record -o "/home/$1/installed.pftrace" --force "${@:2}"
}

has_steps() {
        is_true "/home/$1/installed.pftrace" 'any(s["name"] == "peel" and s["count"] > 10 for s in d["slices"])'
}

# Without a bus
record_native() {
        record bob -p apps -- env DESKTRACE_SOCKET=$NATIVE $EXAMPLE --seconds 0.5
}

chown -R alice: $PROJECT
echo 'alice ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/alice
hostname=$(hostname) # sudo asks for its address
grep -q "$hostname" /etc/hosts || echo "127.0.0.1 $hostname" >>/etc/hosts

ok 'there are commands' test "$(readme_commands | wc -l)" -ge 2
ok 'they succeed' install_by_alice
ok 'the service has its user' getent passwd desktrace
socket=$(grep -o 'systemctl enable --now desktraced.socket' $PROJECT/README.md)
ok 'the socket is enabled as the README says' sh -c "$socket"
ok 'a user records' record bob -p apps -- $EXAMPLE --seconds 0.5
ok 'what the program did' has_steps bob
ok 'by the service' is_active desktraced.service
ok 'as its user' test "$(ps -o user:32= -C desktraced | tr -d ' \n')" = desktrace
fails 'the kernel needs authorization' authori record bob --no-ask-password -p scheduling -t 1s
ok 'which root has' desktrace record -p scheduling -t 1s -o /root/kernel.pftrace --force
ok 'and gets the kernel' is_true /root/kernel.pftrace 'd["kernel_events_total"] > 0'
ok 'a program without a bus is recorded' record_native
ok 'by that socket' has_steps bob
finish
