"""Starts a program and passes on what it and its starter say to each other, and writes all of it down.

The arguments are the file to append to, and the program with its arguments. Each line of the file is a
JSON object with `from` (`client` or `server`) and `message`. It changes nothing, and ends as the program
does.
"""

import json
import os
import subprocess
import sys
import threading


def main():
    file, *command = sys.argv[1:]
    book = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def pass_on(who, source, target):
        for line in source:
            # Written down first: whoever has got an answer finds it in the file.
            os.write(book, json.dumps({"from": who, "message": json.loads(line)}).encode() + b"\n")
            target.write(line)
            target.flush()
        target.close()

    said = (sys.stdin.buffer, server.stdin)
    threading.Thread(target=pass_on, args=("client", *said), daemon=True).start()
    pass_on("server", server.stdout, sys.stdout.buffer)
    sys.exit(server.wait())


if __name__ == "__main__":
    main()
