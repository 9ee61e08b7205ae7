"""Everything that an agent's own shell could try. Each attempt that works is a line of the output.

The first argument is the place of the test; the others are numbers: a TCP port, a UDP port and a process.
"""

import ctypes, fcntl, glob, os, pty, signal, socket, stat, sys, termios, time

place, port, datagrams, pid = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
work = place + "/work"
libc = ctypes.CDLL(None, use_errno=True)
TOKEN = "canary-7d21f0ab"


def system(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def attempt(name, action):
    """Tries something in a process of its own, so that it leaves nothing behind."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
            action()
            code = 0
        except BaseException:
            pass
        os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        print(name)


def read(path):
    assert TOKEN in open(path, errors="replace").read()


def write(path):
    with open(path, "a") as file:
        file.write("by the agent\n")


def renamed(path):
    write(path + ".new")
    os.rename(path + ".new", path)


def linked(path):
    os.symlink(path, work + "/link-to-it")
    try:
        write(work + "/link-to-it")
    finally:
        os.unlink(work + "/link-to-it")


def hard_linked(path):
    os.link(path, work + "/hard-link")
    try:
        write(work + "/hard-link")
    finally:
        os.unlink(work + "/hard-link")


def moved(path):
    os.rename(path, path + "-moved")
    os.rename(path + "-moved", path)


def of_session(name):
    assert glob.glob(place + "/home/.ironcurtain/sessions/*/" + name)


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as it:
        it.settimeout(5)
        it.connect(address)


def asks_names():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.settimeout(5)
        it.sendto(b"who?", ("127.0.0.1", datagrams))
        assert it.recv(100)


def interface():
    assert [name for _, name in socket.if_nameindex() if name != "lo"]


def namespace(kind):
    system(libc.unshare(kind))


def mounts():
    namespace(0x20000)
    # Outside this must stay in the namespace, whatever the machine shares: recursively private, and checked.
    system(libc.mount(b"none", b"/", None, 0x44000, None))
    assert "shared:" not in open("/proc/self/mountinfo").read()
    system(libc.mount(b"none", (place + "/other").encode(), b"tmpfs", 0, None))


def device():
    path = work + "/device"
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.unlink(path)


def disk():
    name = [line.split()[3] for line in open("/proc/partitions").readlines()[2:]][0]
    assert os.read(os.open("/dev/" + name, os.O_RDONLY), 1)


def keyring():
    system(libc.syscall(248, b"user", b"name", b"text", 4, -2))


def ring():
    system(libc.syscall(425, 4, ctypes.create_string_buffer(256)))


def call(number, *words):
    result = libc.syscall(number, *words)
    system(result)
    return result


def memory_of_another():
    start = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
    text = ctypes.create_string_buffer(8)
    into, out = (ctypes.c_size_t * 2)(ctypes.addressof(text), 8), (ctypes.c_size_t * 2)(start, 8)
    call(310, pid, into, 1, out, 1, 0)


def file_of_another():
    call(438, call(434, pid, 0), 0, 0)


def namespace_of_another():
    system(libc.setns(os.open(f"/proc/{pid}/ns/uts", os.O_RDONLY), 0))


def by_handle():
    # A file by its number, past everything that is mounted: as container escapes do.
    handle, mount = ctypes.create_string_buffer(136), ctypes.c_int()
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    call(303, -100, (place + "/work/attempts.py").encode(), handle, ctypes.byref(mount), 0)
    call(304, os.open(place + "/work", os.O_RDONLY), handle, 0)


def tracing_the_kernel():
    attributes = ctypes.create_string_buffer(128)
    attributes[0:8] = (1).to_bytes(4, "little") + (128).to_bytes(4, "little")
    call(298, attributes, 0, -1, -1, 0)


def kernel_map():
    attributes = ctypes.create_string_buffer(72)
    attributes[0:16] = b"".join(n.to_bytes(4, "little") for n in (2, 4, 4, 1))
    call(321, 0, attributes, 72)


def first_in_line():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def raw(family, kind):
    socket.socket(family, kind).close()


def opens(path):
    os.close(os.open(path, os.O_WRONLY))


def types_for_others():
    _, slave = pty.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    fcntl.ioctl(slave, termios.TIOCSTI, b"x")


def traces():
    system(libc.ptrace(16, pid, None, None))
    os.waitpid(pid, 0x40000000)
    system(libc.ptrace(17, pid, None, None))


def set_id():
    path = work + "/program"
    with open(path, "w") as file:
        file.write("x")
    try:
        os.chmod(path, 0o4755)
        assert os.stat(path).st_mode & stat.S_ISUID
    finally:
        os.unlink(path)


def processes():
    children = []
    try:
        for _ in range(700):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


def fills(path, size):
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        os.ftruncate(descriptor, size) if path.startswith(work) else os.posix_fallocate(descriptor, 0, size)
    finally:
        os.unlink(path)


# Network.
attempt("an interface", interface)
attempt("a service of the host on its loopback", lambda: connect(socket.AF_INET, ("127.0.0.1", port)))
attempt("a name service", asks_names)
attempt("the address of a cloud's metadata", lambda: connect(socket.AF_INET, ("169.254.169.254", 80)))
for name, family, kind in [("packets", socket.AF_PACKET, socket.SOCK_RAW), ("netlink", socket.AF_NETLINK, socket.SOCK_RAW),
                           ("virtual machines", 40, socket.SOCK_STREAM), ("cryptography", 38, socket.SOCK_SEQPACKET)]:
    attempt("a socket for " + name, lambda: raw(family, kind))
# The host serves one more once we run.
open(place + "/work/here", "w").close()
for _ in range(600):
    if os.path.exists(place + "/work/after.sock"):
        break
    time.sleep(0.05)
for name in ["work/before.sock", "work/after.sock", "run/bus", "run/wayland-0", "run/X1", "run/ssh-agent", "run/docker.sock",
             "home/.gnupg/S.gpg-agent"]:
    attempt("the socket " + name, lambda: connect(socket.AF_UNIX, place + "/" + name))
attempt("an abstract socket", lambda: connect(socket.AF_UNIX, "\0" + TOKEN + place))
# Keys, files and processes.
attempt("the key in another process", lambda: read(f"/proc/{pid}/environ"))
for name in ["other/secret", "home/.ssh/id_ed25519"]:
    attempt("reading " + name, lambda: read(place + "/" + name))
attempt("IronCurtain's settings", lambda: open(place + "/home/.ironcurtain/config.json").read())
for name in ["escalations", "meta.json", "conversation.json", "sandbox", "quarantine", "session.log", "audit*", "servers", "agent-git", "orientation/../quarantine"]:
    attempt("of a session: " + name, lambda: of_session(name))
attempt("changing IronCurtain's settings", lambda: open(place + "/home/.ironcurtain/config.json", "r+"))
attempt("another process", lambda: os.kill(pid, 0))
attempt("tracing another process", traces)
attempt("its open files", lambda: os.listdir(f"/proc/{pid}/fd"))
attempt("its memory", memory_of_another)
attempt("its memory as a file", lambda: open(f"/proc/{pid}/mem", "rb").close())
attempt("a file that it holds", file_of_another)
attempt("its namespace", namespace_of_another)
for number in (1, pid):
    attempt(f"files by the root of {'the first' if number == 1 else 'another'} process",
            lambda: read(f"/proc/{number}/root{place}/other/secret"))
# The kernel.
for name, kind in [("users", 0x10000000), ("mounts", 0x20000), ("networks", 0x40000000)]:
    attempt("a namespace of " + name, lambda: namespace(kind))
attempt("a mount", mounts)
attempt("a device", device)
attempt("a disk", disk)
attempt("a keyring", keyring)
attempt("a ring", ring)
attempt("typing for others", types_for_others)
attempt("a file by its handle", by_handle)
attempt("a copy of the tree of mounts", lambda: os.close(call(428, -100, b"/", 1 | 0x8000)))
attempt("a new file system", lambda: os.close(call(430, b"tmpfs", 0)))
attempt("tracing the kernel", tracing_the_kernel)
attempt("a map in the kernel", kernel_map)
attempt("page faults of its own", lambda: os.close(call(323, 0)))
attempt("going first always", first_in_line)
attempt("another root", lambda: os.chroot(work))
for path in ["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_seqnum", "/sys/fs/cgroup/cgroup.procs",
             "/sys/fs/cgroup/memory/cgroup.procs", "/dev/kmsg", "/dev/mem", "/dev/fuse", "/dev/net/tun"]:
    attempt("opening " + path, lambda: opens(path))
attempt("a program with its owner's rights", set_id)
# As much as there is.
attempt("very many processes", processes)
attempt("a very large file", lambda: fills(work + "/large", 20 << 30))
attempt("much in /tmp", lambda: fills("/tmp/ic-large", 2 << 30))
# What the host executes.
for name in [".envrc", "sub/.envrc", ".vscode/tasks.json"]:
    path = work + "/" + name
    attempt("writing " + name, lambda: write(path))
    attempt("replacing " + name, lambda: renamed(path))
    attempt("writing through a link " + name, lambda: linked(path))
    attempt("writing through a hard link " + name, lambda: hard_linked(path))
attempt("moving what holds such a file", lambda: moved(work + "/sub"))
attempt("moving such a directory", lambda: moved(work + "/.vscode"))
