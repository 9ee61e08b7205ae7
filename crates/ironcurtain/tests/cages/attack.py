"""Runs in a cage and tries to get out of it. Says what it could reach, and how often it tried.

Its one argument is JSON: {"secrets": [paths], "token": text, "sockets": [paths], "abstract": name,
"unwritable": [directories], "writable": [directories], "pids": [numbers], "ports": [numbers], "network": bool, "unix": bool, "agent": bool}.
Each line of the output is something that was reached, but for the last, which counts the attempts.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys

given = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
attempts = 0


def attempt(name, action):
    """Does something that must fail, or return nothing."""
    global attempts
    attempts += 1
    try:
        reached = action()
    except (OSError, subprocess.SubprocessError, ValueError):
        return
    if reached is not None:
        print(f"{name}: {reached!r:.200}", flush=True)


def system_call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as it:
        it.settimeout(2)
        it.connect(address)
        return "connected"


def sockets():
    families = ["NETLINK", "PACKET", "VSOCK", "ALG", "CAN", "BLUETOOTH", "TIPC", "QIPCRTR"]
    families += [] if given["network"] else ["INET", "INET6"]
    families += [] if given["unix"] else ["UNIX"]
    for name in families:
        number = getattr(socket, f"AF_{name}", None)
        if number is None:
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            attempt(f"a socket of AF_{name}", lambda: socket.socket(number, kind).fileno())
    if not given["unix"]:
        attempt("a pair of datagram sockets", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
    for number in (44, 45, 46, 63, 64, 1 << 20):
        attempt(f"a socket of family {number}", lambda: system_call(41, number, 1, 0))
    for family in (socket.AF_INET, socket.AF_INET6):
        attempt("a raw socket", lambda: socket.socket(family, socket.SOCK_RAW, 1).fileno())
        attempt("a packet socket", lambda: system_call(41, family, 10, 0))
    for path in given["sockets"]:
        attempt(f"the socket {path}", lambda: connect(socket.AF_UNIX, path))
        attempt(f"the datagram socket {path}", lambda: connect(socket.AF_UNIX, path, socket.SOCK_DGRAM))
    attempt("an abstract socket", lambda: connect(socket.AF_UNIX, "\0" + given["abstract"]))
    for port in given["ports"]:
        attempt(f"port {port} of the host", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
        attempt(f"port {port} of the host (IPv6)", lambda: connect(socket.AF_INET6, ("::1", port)))
    for address in ("169.254.169.254", "192.168.65.7", "8.8.8.8", "10.0.0.1"):
        attempt(f"{address}", lambda: connect(socket.AF_INET, (address, 80)))
        attempt(f"{address} by datagram", lambda: send_to(address))


def send_to(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        return it.sendto(b"x", (address, 53))


def secrets():
    for path in given["secrets"]:
        attempt(f"the secret {path}", lambda: read(path))
        attempt(f"the secret {path} by another name", lambda: read(f"/proc/self/root{path}"))
        attempt(f"the secret {path} from the first process", lambda: read(f"/proc/1/root{path}"))
        attempt(f"the name of {path}", lambda: link_and_read(path))
    for path in ("/etc/shadow", "/etc/ssh", "/root/.ssh", "/var/run/docker.sock", "/run/docker.sock",
                 "/var/log", "/run/user", "/sys/kernel", "/dev/mem", "/dev/kmsg", "/dev/fuse",
                 "/dev/net/tun", "/dev/kvm", "/boot", "/proc/kcore", "/proc/kmsg", "/proc/keys",
                 "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/kallsyms"):
        attempt(path, lambda: os.listdir(path) if os.path.isdir(path) else read(path))
    token = given["token"].encode()
    for directory, _, names in os.walk("/"):
        if directory.startswith(("/usr", "/proc", "/nix", "/gnu")):
            continue
        for name in names:
            path = os.path.join(directory, name)
            if path == sys.argv[0] or not os.path.isfile(path):
                continue
            attempt(f"a file that holds the token, {path}", lambda: token in read(path) or None)


def link_and_read(path):
    name = os.path.join(os.environ["TMPDIR"], "link")
    if os.path.lexists(name):
        os.unlink(name)
    os.symlink(path, name)
    return read(name)


def writes():
    for directory in given["unwritable"] + ["/", "/usr", "/usr/bin", "/etc", "/proc", "/dev", "/lib"]:
        path = os.path.join(directory, "written-from-the-cage")
        attempt(f"a new file in {directory}", lambda: os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        attempt(f"a new directory in {directory}", lambda: os.mkdir(path) or "made")
        attempt(f"a link in {directory}", lambda: os.symlink("x", path) or "made")
    for path in ("/usr/bin/env", "/etc/passwd"):
        attempt(f"writing to {path}", lambda: os.open(path, os.O_WRONLY))
    for path in given["secrets"] + [sys.argv[0]]:
        attempt(f"writing to {path}", lambda: os.open(path, os.O_WRONLY))
        attempt(f"truncating {path}", lambda: os.truncate(path, 0) or "truncated")
        attempt(f"the owner of {path}", lambda: os.chown(path, os.getuid(), os.getgid()) or "changed")
        attempt(f"the time of {path}", lambda: os.utime(path, (1, 1)) or "changed")
        attempt(f"an attribute of {path}", lambda: os.setxattr(path, "user.x", b"x") or "changed")
        attempt(f"a link to {path}", lambda: os.link(path, os.environ["TMPDIR"] + "/hard") or "made")
        attempt(f"watching {path}", lambda: watch(path))
        attempt(f"removing {path}", lambda: os.unlink(path) or "removed")
        attempt(f"the mode of {path}", lambda: os.chmod(path, 0o777) or "changed")


    # With the mode that it has, so that nobody is hurt if this succeeds.
    for name in ("null", "zero", "random"):
        attempt(f"the mode of /dev/{name}", lambda: os.chmod(f"/dev/{name}", 0o666) or "changed")
    attempt("the mode of what it runs", lambda: os.chmod("/proc/self/exe", 0o755) or "changed")
    own = os.path.join(os.environ["HOME"], "own")
    with open(own, "w", encoding="utf-8") as file:
        attempt("a program with its owner's rights", lambda: os.chmod(own, 0o4755) or "made")
        attempt("the same by descriptor", lambda: os.fchmod(file.fileno(), 0o2755) or "made")
    for directory in (os.environ["HOME"], *given["writable"]):
        set_id(directory)
    with open(sys.argv[0], "rb") as file:
        attempt("a lease", lambda: fcntl.fcntl(file, 1024, 0))
        attempt("the flags of a file", lambda: fcntl.ioctl(file, 0x40086602, struct.pack("l", 0x80)))
        attempt("the version of a file", lambda: fcntl.ioctl(file, 0x40087602, struct.pack("l", 1)))


def watch(path):
    descriptor = libc.inotify_init1(0)
    result = libc.inotify_add_watch(descriptor, path.encode(), 0xFFF)
    os.close(descriptor)
    # Watching what it sees is its own affair.
    return "watched" if 0 <= result and path != sys.argv[0] else None


def processes():
    for pid in given["pids"]:
        attempt(f"the process {pid}", lambda: os.kill(pid, 0) or "signalled")
        for name in ("environ", "cmdline", "maps", "mem", "stat", "root/etc/hostname", "cwd/x", "fd"):
            path = f"/proc/{pid}/{name}"
            attempt(path, lambda: os.listdir(path) if name == "fd" else read(path))
        attempt(f"tracing {pid}", lambda: system_call(101, 16, pid, 0, 0))
        attempt(f"the limits of {pid}", lambda: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)))
        attempt(f"the priority of {pid}", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) or "changed")
        attempt(f"the processors of {pid}", lambda: os.sched_setaffinity(pid, {0}) or "changed")
    own = os.getpid()
    try:
        names = os.listdir("/proc")
    except OSError:
        names = []
    for name in names:
        if name.isdigit() and int(name) not in (1, own):
            attempt(f"the environment of {name}", lambda: read(f"/proc/{name}/environ"))
    attempt("the environment of the first process", lambda: read("/proc/1/environ"))
    # Should a cage be broken, nobody must be hurt; the kernel answers all the same.
    attempt("ending the first process", lambda: os.kill(1, 0) or "signalled")
    attempt("ending the parent", lambda: os.kill(os.getppid(), signal.SIGKILL) or "signalled")


# Numbers of x86-64; what is refused by name is in the product for each kind of machine.
CALLS = {
    "unshare": (272, 0x10000000), "unshare of mounts": (272, 0x20000), "setns": (308, 0, 0),
    "mount": (165, b"none", b"/tmp", b"tmpfs", 0, 0), "umount": (166, b"/tmp", 2),
    "pivot_root": (155, b"/tmp", b"/tmp"), "chroot": (161, b"/tmp"), "fsopen": (430, b"tmpfs", 0),
    "open_tree": (428, -100, b"/", 1), "move_mount": (429, 0, b"", 0, b"", 0),
    "mount_setattr": (442, -100, b"/", 0, None, 0), "fsmount": (432, 0, 0, 0),
    "ptrace": (101, 0, 0, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "process_vm_writev": (311, 1, 0, 0, 0, 0, 0), "kcmp": (312, 1, 1, 0, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0), "keyctl": (250, 0, -3, 0), "add_key": (248, b"user", b"x", b"x", 1, -3),
    "request_key": (249, b"user", b"x", b"x", -3), "io_uring_setup": (425, 1, None),
    "io_uring_enter": (426, 0, 0, 0, 0, None), "bpf": (321, 0, None, 0),
    "perf_event_open": (298, None, 0, -1, -1, 0), "userfaultfd": (323, 0), "fanotify": (300, 0, 0),
    "open_by_handle_at": (304, -100, None, 0), "init_module": (175, None, 0, b""),
    "finit_module": (313, 0, b"", 0), "kexec_load": (246, 0, 0, None, 0), "reboot": (169, 0, 0, 0, None),
    "swapon": (167, b"/tmp/x", 0), "acct": (163, b"/tmp/x"), "syslog": (103, 3, None, 0),
    "settimeofday": (164, None, None), "sethostname": (170, b"x", 1), "iopl": (172, 3),
    "ioperm": (173, 0, 1, 1), "modify_ldt": (154, 0, None, 0), "quotactl": (179, 0, b"", 0, None),
    "io_setup": (206, 1, b"\0" * 8), "memfd_create": (319, b"x", 0), "memfd_secret": (447, 0), "shmget": (29, 0, 4096, 0o1600),
    "semget": (64, 0, 1, 0o1600), "msgget": (68, 0, 0o1600), "mq_open": (240, b"x", 0o102, 0o600, None),
    "clone3": (435, None, 0), "clone of a user": (56, 0x10000000 | 17, 0, 0, 0, 0),
    "clone of a network": (56, 0x40000000 | 17, 0, 0, 0, 0), "x32": (0x40000000 + 39,),
    "seccomp with a listener": (317, 1, 8, None), "ioctl TIOCSTI": (16, 0, 0x5412, b"x"),
    "a call of tomorrow": (1000,), "lookup_dcookie": (212, 0, None, 0), "vhangup": (153,),
}


def calls():
    if os.uname().machine != "x86_64":
        return
    for name, (number, *arguments) in CALLS.items():
        if given["agent"] and name == "memfd_create":
            continue
        arguments = [ctypes.c_char_p(it) if isinstance(it, bytes) else it for it in arguments]
        attempt(name, lambda: system_call(number, *arguments))


def privileges():
    status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        attempt(name, lambda: status[name].strip() if int(status[name], 16) else None)
    attempt("new privileges", lambda: None if status["NoNewPrivs"].strip() == "1" else status["NoNewPrivs"])
    attempt("seccomp", lambda: None if status["Seccomp"].strip() == "2" else status["Seccomp"])
    attempt("su", lambda: subprocess.run(["/bin/su", "-c", "id"], check=True, capture_output=True, timeout=5))
    attempt("another user", lambda: os.setuid(os.getuid() + 1) or "became")
    expected = {"0", "1", "2"}
    descriptors = set(os.listdir("/proc/self/fd"))
    attempt("descriptors", lambda: [it for it in descriptors - expected if is_open(it)] or None)
    known = {"PATH", "HOME", "TMPDIR", "LANG", "TZ", "LC_CTYPE"}
    attempt("variables", lambda: sorted(set(os.environ) - known) or None)
    attempt("core files", lambda: max(resource.getrlimit(resource.RLIMIT_CORE)) or None)


def set_id(directory):
    """Makes files that would run with the rights of their owner, in all the ways there are."""
    os.umask(0)
    for mode in (0o4755, 0o2755, 0o6755):
        path = os.path.join(directory, f"set-id-{mode:o}")
        file, how = path.encode(), os.O_CREAT | os.O_WRONLY
        opened = struct.pack("QQQ", how, mode, 0)
        unnamed = struct.pack("QQQ", os.O_TMPFILE | os.O_WRONLY, mode, 0)
        for name, action in (
            ("open", lambda: system_call(2, file, how, mode)),
            ("openat", lambda: system_call(257, -100, file, how, mode)),
            ("an unnamed file", lambda: system_call(257, -100, directory.encode(), os.O_TMPFILE | 1, mode)),
            ("openat2", lambda: system_call(437, -100, file, opened, len(opened))),
            ("an unnamed file by openat2", lambda: system_call(437, -100, directory.encode(), unnamed, 24)),
            ("creat", lambda: system_call(85, file, mode)),
            ("mkdir", lambda: system_call(83, file, mode)),
            ("mkdirat", lambda: system_call(258, -100, file, mode)),
            ("mknod", lambda: system_call(133, file, 0o100000 | mode, 0)),
            ("mknodat", lambda: system_call(259, -100, file, 0o100000 | mode, 0)),
            ("chmod", lambda: system_call(90, sys.argv[0].encode(), mode)),
            ("fchmodat", lambda: system_call(268, -100, file, mode)),
            ("fchmodat2", lambda: system_call(452, -100, file, mode, 0)),
        ):
            attempt(f"a file with {mode:o} in {directory} by {name}", action)


def is_open(number):
    """The descriptor with which the directory was listed is closed by now."""
    try:
        os.fstat(int(number))
        return True
    except OSError:
        return False


def programs():
    if given["agent"]:
        # What an agent writes it may run.
        return
    path = os.path.join(os.environ["HOME"], "program")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho ran\n")
    attempt("making it a program", lambda: os.chmod(path, 0o755))
    attempt("running what it wrote", lambda: subprocess.run([path], check=True, timeout=5))
    attempt("mapping what it wrote", lambda: map_executable(path))
    for directory in (os.environ["HOME"], "/tmp", "/dev/shm", *given["writable"]):
        attempt(f"a loader for what it wrote in {directory}", lambda: load(directory))


def load(directory):
    """Runs a copy of a program by the loader, which needs no right to run it."""
    path = os.path.join(directory, "copied")
    with open("/bin/true", "rb") as program, open(path, "wb") as copy:
        copy.write(program.read())
    try:
        loader = "/lib64/ld-linux-x86-64.so.2"
        ran = subprocess.run([loader, path], check=True, timeout=5, stderr=subprocess.DEVNULL)
        return None if given["maps"] else ran
    finally:
        os.unlink(path)


def map_executable(path):
    descriptor = os.open(path, os.O_RDONLY)
    libc.mmap.restype = ctypes.c_void_p
    mapped = libc.mmap(None, 4096, 5, 2, descriptor, 0)
    # Landlock says nothing of mappings; where nothing else does, that is no way out.
    return None if mapped in (None, ctypes.c_void_p(-1).value) or given["maps"] else "mapped"


for kind in (sockets, secrets, writes, processes, calls, privileges, programs):
    kind()
print(f"attempts: {attempts}")
