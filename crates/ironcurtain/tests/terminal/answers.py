"""Runs a command at a terminal of its own, and answers its questions.

usage: answers.py [--early TEXT FILE | --meanwhile SCRIPT] [ANSWER ...] -- COMMAND ...

A question is whatever ends in `[y/N] `, or in a choice that can be left (`[q] quit: `, `[q] stop: `, `[b] back: `); each is answered with the next ANSWER, in which `\\n`, `\\x03` and
the like mean what they mean in Python. With `--early`, TEXT is typed at once, and then FILE is made. With
`--meanwhile`, the shell runs SCRIPT without a terminal when the first question stands, before it is answered.
Prints what the command wrote to the terminal, and ends as the command ended: with its exit code, or with
128 and the number of the signal.
"""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios


def typed(text):
    return text.encode().decode("unicode_escape").encode()


def main():
    words = sys.argv[1:]
    split = words.index("--")
    answers, command = words[:split], words[split + 1 :]
    pid, terminal = pty.fork()
    if pid == 0:
        # So large that nothing is folded.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 4000, 0, 0))
        os.execvp(command[0], command)
    if answers[:1] == ["--early"]:
        os.write(terminal, typed(answers[1]))
        open(answers[2], "w", encoding="utf-8").close()
        answers = answers[3:]
    meanwhile = None
    if answers[:1] == ["--meanwhile"]:
        meanwhile, answers = answers[1], answers[2:]
    seen = b""
    answered = 0
    while True:
        try:
            some = os.read(terminal, 4096)
        except OSError:
            break
        if not some:
            break
        seen += some
        if seen[answered:].endswith((b"[y/N] ", b"[q] quit: ", b"[q] stop: ", b"[b] back: ")) and answers:
            answered = len(seen)
            if meanwhile:
                # Not at this terminal, nor at any.
                subprocess.run(["setsid", "-w", "sh", "-c", meanwhile], stdin=subprocess.DEVNULL, check=True)
                meanwhile = None
            os.write(terminal, typed(answers.pop(0)))
    sys.stdout.buffer.write(seen.replace(b"\r\n", b"\n"))
    sys.stdout.flush()
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(ended if ended >= 0 else 128 - ended)


main()
