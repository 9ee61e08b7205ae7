"""Connects its standard streams with a Unix socket: what a client starts that can only start programs.

Its only argument is the path of the socket. It ends when either side does.
"""

import os
import socket
import sys
import threading


def main():
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[1])

    def send():
        while data := os.read(0, 65536):
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)

    threading.Thread(target=send, daemon=True).start()
    while data := server.recv(65536):
        while data:
            data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
