# SPDX-License-Identifier: LGPL-2.1-or-later
"""Listens where a server would, and is none.

Usage: fake-server.py SOCKET silence|noise
"""

import os
import socket
import sys


def answer(peer, how):
    try:
        for _ in range(64 if how == "noise" else 0):
            peer.sendall(os.urandom(4096))
    except OSError:
        pass


def main(path, how):
    peers = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            peers.append(listener.accept()[0])
            answer(peers[-1], how)


main(*sys.argv[1:])
