"""Runs a program where no cage can be made: a filter of system calls refuses what every rung needs.

usage: uncageable.py PROGRAM ARGUMENT...

Namespaces cannot be made (neither by clone, clone3 nor unshare), and there is no Landlock. For x86-64.
"""

import ctypes
import os
import struct
import sys

CLONE, UNSHARE, CLONE3, LANDLOCK_CREATE_RULESET = 56, 272, 435, 444
NAMESPACES = 0x7E020000
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, FIRST_ARGUMENT = 0, 16

FILTER = [
    (LOAD, 0, 0, NUMBER),
    (EQUAL, 6, 0, CLONE3),
    (EQUAL, 5, 0, LANDLOCK_CREATE_RULESET),
    (EQUAL, 5, 0, UNSHARE),
    (EQUAL, 0, 2, CLONE),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (ANY_BIT, 2, 0, NAMESPACES),
    (RETURN, 0, 0, ALLOW),
    (RETURN, 0, 0, ENOSYS),
    (RETURN, 0, 0, EPERM),
]


def main():
    library = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in FILTER)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(FILTER), ctypes.addressof(buffer))
    # No new privileges, then the filter.
    for words in [(38, 1, 0, 0, 0), (22, 2, ctypes.create_string_buffer(program), 0, 0)]:
        if library.prctl(*words) != 0:
            sys.exit(f"uncageable.py: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[1], sys.argv[1:])


main()
