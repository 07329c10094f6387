#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Rust crates: built without a network, tested, and their events counted in what a private service records.

# shellcheck source=tests/integration/recorded-lib.sh
. "$(dirname "$0")/recorded-lib.sh"

# The distribution's own, as a package is built.
[ ! -x /usr/bin/cargo ] || PATH=/usr/bin:$PATH
command -v cargo >/dev/null || { echo '1..0 # SKIP cargo is not installed'; exit 0; }

REGISTRY=/usr/share/cargo/registry
mkdir pkgconfig cargo
cp -r "$RUST" rust
sed 's|^Cflags:.*|Cflags:|' "$UNINSTALLED/desktrace-uninstalled.pc" >pkgconfig/desktrace.pc
export PKG_CONFIG_PATH=$PWD/pkgconfig CARGO_HOME=$PWD/cargo CARGO_TARGET_DIR=$PWD/target CARGO_BUILD_JOBS=2
LD_LIBRARY_PATH=$(dirname "$(readlink -f "$LIBRARY")")
export LD_LIBRARY_PATH
unset RUSTC RUSTFLAGS

in_crate() {
        (cd "rust/$1" && shift && "$@")
}

ok "the crate's own tests" in_crate desktrace cargo test --offline
ok "its example is built" in_crate desktrace cargo build --offline --release --example hello
ok "and recorded" records hello.pftrace target/release/examples/hello
ok "slices" slices hello.pftrace step 'n == 30'
ok "slices of a track" slices hello.pftrace queued 'n == 30'
ok "slices that overlap, and end on another thread" slices hello.pftrace request 'n == 60'
ok "instants" instants hello.pftrace end 'n == 1'
ok "a counter by its name" counters hello.pftrace steps 'n == 30'
ok "a counter of fractions by its track" counters hello.pftrace memory 'n == 30'
ok "more arguments than there is room for do no harm" instants hello.pftrace many 'n == 1'
for text in 'step 30' 'all is done' before "the example's thread" status; do
        ok "\"$text\" is in the trace" grep -qa "$text" hello.pftrace
done
ok "what began has ended" json_holds hello.pftrace.json \
        'not any(s["open"] for s in t["slices"]) and t["unmatched_slice_ends"] == 0'
ok "nothing is lost" lossless hello.pftrace
ok "and nobody needs to record" target/release/examples/hello
fails "without the library it says what to install" 'libdesktrace-dev' \
        env PKG_CONFIG_PATH=/nowhere PKG_CONFIG_LIBDIR=/nowhere CARGO_TARGET_DIR="$PWD/none" \
        cargo build --offline --manifest-path rust/desktrace/Cargo.toml

if compgen -G "$REGISTRY/tracing-subscriber-*" >/dev/null; then
        printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "%s"\n' $REGISTRY \
                >cargo/config.toml
        ok "a program with the tracing crate is built" in_crate desktrace-tracing cargo build --offline --example spans
        ok "and recorded" records spans.pftrace target/debug/examples/spans
        ok "spans" slices spans.pftrace request 'n == 30'
        ok "spans within spans" slices spans.pftrace parse 'n == 30'
        ok "events, but for those of debug" instants spans.pftrace spans 'n == 33'
        for text in /index status 'request received' 'this takes long'; do
                ok "\"$text\" is in the trace" grep -qa "$text" spans.pftrace
        done
        ok "nothing is lost" lossless spans.pftrace
else
        skip "a program with the tracing crate is recorded" "librust-tracing-subscriber-dev is not installed"
fi
finish
