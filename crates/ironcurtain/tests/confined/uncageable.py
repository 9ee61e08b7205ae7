"""Runs a program where only some cages can be made: a filter of system calls refuses the rest.

usage: uncageable.py LEFT PROGRAM ARGUMENT...

LEFT is the one rung that is left: `bubblewrap`, `landlock` or `nothing`. Our own namespaces need clone3,
those of bubblewrap clone, and `nothing` is without Landlock, too. For x86-64.
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

NO_CALL = 0xFFFFFFFF


def filter_for(left):
    landlock = LANDLOCK_CREATE_RULESET if left == "nothing" else NO_CALL
    unshare, clone = (NO_CALL, NO_CALL) if left == "bubblewrap" else (UNSHARE, CLONE)
    return [
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 6, 0, CLONE3),
        (EQUAL, 5, 0, landlock),
        (EQUAL, 5, 0, unshare),
        (EQUAL, 0, 2, clone),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 2, 0, NAMESPACES),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, ENOSYS),
        (RETURN, 0, 0, EPERM),
    ]


def main():
    library = ctypes.CDLL(None, use_errno=True)
    instructions = filter_for(sys.argv[1])
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(buffer))
    # No new privileges, then the filter.
    for words in [(38, 1, 0, 0, 0), (22, 2, ctypes.create_string_buffer(program), 0, 0)]:
        if library.prctl(*words) != 0:
            sys.exit(f"uncageable.py: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[2], sys.argv[2:])


main()
