// SPDX-License-Identifier: LGPL-2.1-or-later

//! Asks pkg-config where libdesktrace is.

use std::env;
use std::process::{exit, Command};

fn main() {
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program)
        .args(["--libs-only-L", "--libs-only-l", "--print-errors", "desktrace >= 0.2.0"])
        .output();
    let flags = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => fail(&String::from_utf8_lossy(&output.stderr)),
        Err(error) => fail(&format!("{program} does not run: {error}")),
    };
    for flag in flags.split_whitespace() {
        if let Some(directory) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={directory}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
}

fn fail(why: &str) -> String {
    eprintln!("libdesktrace 0.2 is needed; on Debian: apt install libdesktrace-dev\n{}", why.trim());
    exit(1);
}
