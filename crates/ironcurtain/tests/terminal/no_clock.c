/* Takes the clock away from the first thread of a program that was loaded with this, until it panics.
 *
 * Rust's standard library panics without a clock, so this is a panic of the real program, wherever it
 * happens to be when the file that NO_CLOCK_WHEN names appears. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

static atomic_bool has_panicked;

int clock_gettime(clockid_t clock, struct timespec *now) {
    const char *when = getenv("NO_CLOCK_WHEN");
    if (when && !has_panicked && syscall(SYS_gettid) == getpid() && access(when, F_OK) == 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* What a panic begins with, once it has been said. */
_Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *exception) {
    has_panicked = 1;
    _Unwind_Reason_Code (*next)(struct _Unwind_Exception *) =
        (_Unwind_Reason_Code (*)(struct _Unwind_Exception *))dlsym(RTLD_NEXT, "_Unwind_RaiseException");
    return next(exception);
}
