"""Runs a command at a terminal of its own, and does there what it is told, step by step.

usage: steps.py COMMAND ...

Prints the id of the command's process. Then each line of standard input is a JSON object and is answered
with one: `{"expect": TEXT}` with what was written up to TEXT, `{"type": TEXT}` with nothing, `{"end": true}`
with the rest and how the command ended: its exit code, or 128 and the number of the signal. Whoever expects
what does not come within half a minute gets what came, and `"missing": true`. The terminal is so large that
nothing is folded and all fits; who wants it otherwise sets it with `stty`.
"""

import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios

PATIENCE_S = 30
ROWS, COLUMNS = 500, 4000


def main():
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execvp(sys.argv[1], sys.argv[1:])
    print(pid, flush=True)
    seen = b""

    def more():
        nonlocal seen
        if not select.select([terminal], [], [], PATIENCE_S)[0]:
            return False
        try:
            some = os.read(terminal, 4096)
        except OSError:
            return False
        seen = (seen + some).replace(b"\r\n", b"\n")
        return bool(some)

    for line in sys.stdin:
        step = json.loads(line)
        answer = {}
        if "type" in step:
            os.write(terminal, step["type"].encode())
        elif "expect" in step:
            text = step["expect"].encode()
            while text not in seen and more():
                pass
            before, found, seen = seen.partition(text)
            answer = {"seen": (before + found).decode(errors="replace"), "missing": not found}
        else:
            while more():
                pass
            ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            code = ended if ended >= 0 else 128 - ended
            answer = {"seen": seen.decode(errors="replace"), "code": code}
        print(json.dumps(answer), flush=True)


main()
