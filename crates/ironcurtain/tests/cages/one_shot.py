"""Runs in the cage of a server that serves one call, and tries to change what the call is about.

Its one argument is JSON: {"files": [paths], "directories": [paths], "readable": [paths]}. Each line of
the output is something that could be done, but for the last, which counts the attempts.
"""

import json
import mmap
import os
import subprocess
import sys

given = json.loads(sys.argv[1])
attempts = 0


def attempt(name, action):
    """Does something that must fail."""
    global attempts
    attempts += 1
    try:
        action()
    except (OSError, ValueError, subprocess.SubprocessError):
        return
    print(name, flush=True)


def write_through(path, flags):
    os.write(os.open(path, flags, 0o600), b"written from the cage")


def reopened(path):
    """What is open for reading is opened for writing by the name that the kernel gives it."""
    descriptor = os.open(path, os.O_RDONLY)
    write_through(f"/proc/self/fd/{descriptor}", os.O_WRONLY)


def mapped(path):
    descriptor = os.open(path, os.O_RDONLY)
    mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0] = 1


def by_handle(path):
    """As whoever is held to a directory, and not to a name."""
    parent = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    name = os.path.basename(path)
    os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=parent)


own = os.path.join(os.environ["TMPDIR"], "own")
try:
    with open(own, "w", encoding="utf-8") as file:
        file.write("written from the cage")
except OSError:
    pass

for path in given["files"]:
    new = path + ".from-the-cage"
    for name, flags in (
        ("writing", os.O_WRONLY),
        ("reading and writing", os.O_RDWR),
        ("appending to", os.O_WRONLY | os.O_APPEND),
        ("making", os.O_WRONLY | os.O_CREAT),
        ("making anew", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        ("making alone", os.O_WRONLY | os.O_CREAT | os.O_EXCL),
    ):
        attempt(f"{name} {path}", lambda: write_through(path, flags))
    attempt(f"making {new}", lambda: write_through(new, os.O_WRONLY | os.O_CREAT))
    attempt(f"truncating {path}", lambda: os.truncate(path, 0))
    attempt(f"removing {path}", lambda: os.unlink(path))
    attempt(f"renaming {path}", lambda: os.rename(path, new))
    attempt(f"renaming to {path}", lambda: os.rename(own, path))
    attempt(f"linking {path}", lambda: os.link(path, new))
    attempt(f"linking to {path}", lambda: os.link(own, path))
    attempt(f"a link beside {path}", lambda: os.symlink("x", new))
    attempt(f"a directory beside {path}", lambda: os.mkdir(new))
    attempt(f"a pipe beside {path}", lambda: os.mkfifo(new))
    attempt(f"the mode of {path}", lambda: os.chmod(path, 0o777))
    attempt(f"the owner of {path}", lambda: os.chown(path, os.getuid(), os.getgid()))
    attempt(f"the time of {path}", lambda: os.utime(path, (1, 1)))
    attempt(f"an attribute of {path}", lambda: os.setxattr(path, "user.x", b"x"))
    attempt(f"{path} by a handle", lambda: by_handle(path))
    attempt(f"{path} by a descriptor", lambda: reopened(path))
    attempt(f"{path} in memory", lambda: mapped(path))
    attempt(f"{path} by a program", lambda: subprocess.run(
        ["/bin/sh", "-c", 'echo written >"$1"', "sh", path], check=True, stderr=subprocess.DEVNULL))

for path in given["directories"]:
    new = os.path.join(path, "from-the-cage")
    attempt(f"a file in {path}", lambda: write_through(new, os.O_WRONLY | os.O_CREAT))
    attempt(f"a file without a name in {path}", lambda: write_through(path, os.O_TMPFILE | os.O_WRONLY))
    attempt(f"a directory in {path}", lambda: os.mkdir(new))
    attempt(f"a link in {path}", lambda: os.symlink("x", new))
    attempt(f"renaming {path}", lambda: os.rename(path, path + "-from-the-cage"))
    attempt(f"removing {path}", lambda: os.rmdir(path))
    attempt(f"the mode of {path}", lambda: os.chmod(path, 0o777))
    attempt(f"the time of {path}", lambda: os.utime(path, (1, 1)))

for path in given["readable"]:
    with open(path, "rb") as file:
        file.read()
print(f"attempts: {attempts}")
