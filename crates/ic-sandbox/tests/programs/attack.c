/* Code that has taken over a worker: loaded into the real one (LD_PRELOAD), it waits until the worker
 * writes for the first time, which is when it has tightened itself, and then tries every call that
 * could be of use. It writes a line for each: its name, and `refused` (EPERM), `worked`, or the error.
 *
 * Nothing here is harmful if it works: it is told, and the test fails. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static char report[1 << 16];
static size_t length;

static long raw(long n, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static void tell(const char *name, long result) {
  const char *word = result == -EPERM ? "refused" : result < 0 ? strerror((int)-result) : "worked";
  length += (size_t)snprintf(report + length, sizeof report - length, "%s: %s\n", name, word);
}

#define P(x) ((long)(x))
#define TRY(name, n, a, b, c, d, e, f) tell(name, raw(n, P(a), P(b), P(c), P(d), P(e), P(f)))

static void attack(void) {
  static char buffer[4096];
  static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
  static char *nothing[] = {NULL};
  static struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  static struct timespec moment = {0, 1};
  long page = raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  tell("+ map memory", page);
  TRY("+ protect memory", SYS_mprotect, page, 4096, PROT_READ, 0, 0, 0);
  TRY("+ random", SYS_getrandom, buffer, 16, 0, 0, 0, 0);
  TRY("+ clock", SYS_clock_gettime, CLOCK_MONOTONIC, &moment, 0, 0, 0, 0);
  TRY("+ write nothing", SYS_write, 1, buffer, 0, 0, 0, 0);

  TRY("open", SYS_open, "/etc/passwd", O_RDONLY, 0, 0, 0, 0);
  TRY("open /proc", SYS_open, "/proc/self/mem", O_RDWR, 0, 0, 0, 0);
  TRY("openat", SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0, 0, 0);
  TRY("openat2", 437, AT_FDCWD, "/", buffer, 24, 0, 0);
  TRY("creat", SYS_creat, "/tmp/x", 0600, 0, 0, 0, 0);
  TRY("stat", SYS_stat, "/", buffer, 0, 0, 0, 0);
  TRY("statx", SYS_statx, AT_FDCWD, "/", 0, 0x7ff, buffer, 0);
  TRY("fstat", SYS_fstat, 0, buffer, 0, 0, 0, 0);
  TRY("access", SYS_access, "/", 0, 0, 0, 0, 0);
  TRY("readlink", SYS_readlink, "/proc/self/exe", buffer, 100, 0, 0, 0);
  TRY("getdents", SYS_getdents64, 0, buffer, sizeof buffer, 0, 0, 0);
  TRY("getcwd", SYS_getcwd, buffer, sizeof buffer, 0, 0, 0, 0);
  TRY("chdir", SYS_chdir, "/", 0, 0, 0, 0, 0);
  TRY("mkdir", SYS_mkdir, "/tmp/x", 0700, 0, 0, 0, 0);
  TRY("unlink", SYS_unlink, "/tmp/x", 0, 0, 0, 0, 0);
  TRY("rename", SYS_rename, "/tmp/x", "/tmp/y", 0, 0, 0, 0);
  TRY("link", SYS_link, "/proc/self/exe", "/tmp/y", 0, 0, 0, 0);
  TRY("symlink", SYS_symlink, "/", "/tmp/y", 0, 0, 0, 0);
  TRY("chmod", SYS_chmod, "/tmp", 0777, 0, 0, 0, 0);
  TRY("memfd_create", SYS_memfd_create, "x", 0, 0, 0, 0, 0);
  TRY("pipe2", SYS_pipe2, buffer, 0, 0, 0, 0, 0);
  TRY("dup", SYS_dup, 1, 0, 0, 0, 0, 0);
  TRY("dup2", SYS_dup2, 1, 9, 0, 0, 0, 0);
  TRY("fcntl", SYS_fcntl, 1, F_DUPFD, 10, 0, 0, 0);
  TRY("ioctl", SYS_ioctl, 0, 0x541b, buffer, 0, 0, 0);
  TRY("close", SYS_close, 0, 0, 0, 0, 0, 0);
  TRY("read elsewhere", SYS_read, 3, buffer, 1, 0, 0, 0);
  TRY("read from output", SYS_read, 1, buffer, 1, 0, 0, 0);
  TRY("write elsewhere", SYS_write, 3, buffer, 1, 0, 0, 0);
  TRY("write to input", SYS_write, 0, buffer, 1, 0, 0, 0);
  TRY("readv", SYS_readv, 0, buffer, 0, 0, 0, 0);
  TRY("pread", SYS_pread64, 0, buffer, 1, 0, 0, 0);
  TRY("sendfile", SYS_sendfile, 1, 0, 0, 1, 0, 0);
  TRY("splice", SYS_splice, 0, 0, 1, 0, 1, 0);
  TRY("poll", SYS_poll, buffer, 0, 0, 0, 0, 0);
  TRY("epoll", SYS_epoll_create1, 0, 0, 0, 0, 0, 0);
  TRY("nanosleep", SYS_nanosleep, &moment, 0, 0, 0, 0, 0);

  TRY("socket of the Internet", SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0);
  TRY("socket with a name", SYS_socket, AF_UNIX, SOCK_STREAM, 0, 0, 0, 0);
  TRY("socketpair", SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, buffer, 0, 0);
  TRY("connect", SYS_connect, 0, &address, sizeof address, 0, 0, 0);
  TRY("sendmsg", SYS_sendmsg, 1, buffer, 0, 0, 0, 0);
  TRY("recvmsg", SYS_recvmsg, 0, buffer, 0, 0, 0, 0);

  TRY("execve", SYS_execve, "/bin/true", nothing, nothing, 0, 0, 0);
  TRY("execveat", SYS_execveat, AT_FDCWD, "/bin/true", nothing, nothing, 0, 0);
  TRY("fork", SYS_fork, 0, 0, 0, 0, 0, 0);
  TRY("vfork", SYS_vfork, 0, 0, 0, 0, 0, 0);
  TRY("clone", SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
  TRY("clone a thread", SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, 0, 0, 0, 0, 0);
  TRY("clone3", 435, buffer, 64, 0, 0, 0, 0);
  TRY("unshare", SYS_unshare, CLONE_NEWUSER, 0, 0, 0, 0, 0);
  TRY("setns", SYS_setns, 0, 0, 0, 0, 0, 0);
  TRY("ptrace", SYS_ptrace, 0, 0, 0, 0, 0, 0);
  TRY("process_vm_readv", SYS_process_vm_readv, 1, buffer, 0, buffer, 0, 0);
  TRY("pidfd_open", 434, 1, 0, 0, 0, 0, 0);
  TRY("kill", SYS_kill, 1, 0, 0, 0, 0, 0);
  TRY("kill all", SYS_kill, -1, 0, 0, 0, 0, 0);
  TRY("kill itself", SYS_kill, 0, 0, 0, 0, 0, 0);
  TRY("tgkill", SYS_tgkill, 1, 1, 0, 0, 0, 0);
  TRY("getpid", SYS_getpid, 0, 0, 0, 0, 0, 0);
  TRY("getppid", SYS_getppid, 0, 0, 0, 0, 0, 0);
  TRY("getuid", SYS_getuid, 0, 0, 0, 0, 0, 0);
  TRY("setuid", SYS_setuid, 0, 0, 0, 0, 0, 0);
  TRY("setsid", SYS_setsid, 0, 0, 0, 0, 0, 0);
  TRY("capset", SYS_capset, buffer, buffer, 0, 0, 0, 0);
  TRY("prctl", SYS_prctl, 4, 1, 0, 0, 0, 0);
  TRY("prctl death signal", SYS_prctl, 1, 0, 0, 0, 0, 0);
  TRY("arch_prctl", SYS_arch_prctl, 0x1003, buffer, 0, 0, 0, 0);
  TRY("seccomp", SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, buffer, 0, 0, 0);
  TRY("setrlimit", SYS_setrlimit, RLIMIT_CPU, &limit, 0, 0, 0, 0);
  TRY("prlimit", SYS_prlimit64, 0, RLIMIT_DATA, &limit, 0, 0, 0);
  TRY("getrlimit", SYS_getrlimit, RLIMIT_CPU, buffer, 0, 0, 0, 0);
  TRY("sigaction", SYS_rt_sigaction, SIGXCPU, buffer, 0, 8, 0, 0);
  TRY("sigprocmask", SYS_rt_sigprocmask, SIG_BLOCK, buffer, 0, 8, 0, 0);
  TRY("setitimer", SYS_setitimer, 0, buffer, 0, 0, 0, 0);
  TRY("timer_create", SYS_timer_create, 0, 0, buffer, 0, 0, 0);
  TRY("personality", SYS_personality, 0x0400000, 0, 0, 0, 0, 0);
  TRY("sched_setaffinity", SYS_sched_setaffinity, 0, 8, buffer, 0, 0, 0);

  TRY("map code", SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TRY("map writable code", SYS_mmap, 0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TRY("map code, with bits above", SYS_mmap, 0, 4096, 7L | (1L << 40), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  TRY("map a file", SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
  TRY("make code", SYS_mprotect, page, 4096, PROT_READ | PROT_EXEC, 0, 0, 0);
  TRY("make code with a key", SYS_pkey_mprotect, page, 4096, PROT_EXEC, -1, 0, 0);
  TRY("remap pages", SYS_remap_file_pages, page, 4096, 0, 0, 0, 0);
  TRY("attach memory", SYS_shmget, 0, 4096, 01600, 0, 0, 0);
  TRY("futex of another kind", SYS_futex, page, 9, 1, 0, 0, -1);

  TRY("io_uring", 425, 8, buffer, 0, 0, 0, 0);
  TRY("bpf", SYS_bpf, 0, buffer, 64, 0, 0, 0);
  TRY("perf", SYS_perf_event_open, buffer, 0, -1, -1, 0, 0);
  TRY("userfaultfd", SYS_userfaultfd, 0, 0, 0, 0, 0, 0);
  TRY("keys", SYS_keyctl, 0, -3, 0, 0, 0, 0);
  TRY("mount", SYS_mount, "none", "/tmp", "tmpfs", 0, 0, 0);
  TRY("landlock", 444, 0, 0, 1, 0, 0, 0);
  TRY("modify_ldt", SYS_modify_ldt, 0, buffer, 16, 0, 0, 0);
  TRY("a call of kernels to come", 999, 0, 0, 0, 0, 0, 0);
  /* The other numbers of the same calls. */
  TRY("open, by its other number", 0x40000000 | SYS_open, "/etc/passwd", 0, 0, 0, 0, 0);
  TRY("execve, by its other number", 0x40000000 | 520, "/bin/true", nothing, nothing, 0, 0, 0);
}

/* The calls of another kind of machine: this ends the process, or is refused. */
static void attack_as_another_machine(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
  tell("call of another machine", result);
}

ssize_t write(int descriptor, const void *bytes, size_t n_bytes) {
  static int has_begun;
  if (!has_begun) {
    has_begun = 1;
    if (getenv("ANOTHER_MACHINE"))
      attack_as_another_machine();
    else
      attack();
    for (size_t at = 0; at < length;) {
      long n = raw(SYS_write, 1, P(report + at), P(length - at), 0, 0, 0);
      if (n <= 0) break;
      at += (size_t)n;
    }
    raw(SYS_exit_group, 0, 0, 0, 0, 0, 0);
  }
  return raw(SYS_write, descriptor, P(bytes), P(n_bytes), 0, 0, 0);
}
