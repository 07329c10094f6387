#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The attacks of case-hostile.sh with another message bus. boot.sh reads the next line:
# Bus: dbus-broker
SYSTEM_BUS=dbus-broker-lau . ./case-hostile.sh
