//! What no safe interface offers: the few system calls that take `unsafe`.
//!
//! The only `unsafe` code of the workspace. What can be called from outside is safe, and says why; what
//! only a launcher may do takes a [`Launching`]. What the calls are good for is not known here.

#![expect(unsafe_code, reason = "the one place where system calls are made by hand")]

use std::cell::RefCell;
use std::io;
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::mount::MountAttrFlags;
use rustix::process::{Pid, Signal};
use rustix::thread::UnshareFlags;

/// Lets the child that `command` starts have `descriptor` under the number that it has here.
pub(crate) fn let_child_inherit(command: &mut Command, descriptor: impl AsFd) {
    let_child_inherit_number(command, descriptor.as_fd().as_raw_fd());
}

/// The same for a descriptor that is known by its number; if it is not open, nothing is started.
pub(crate) fn let_child_inherit_number(command: &mut Command, number: RawFd) {
    let inherit = move || {
        // The child is a copy of us that has closed nothing, so the number means the same.
        // SAFETY: `fcntl` touches no memory, and may be called between fork and exec.
        check(unsafe { libc::fcntl(number, libc::F_SETFD, 0) }).map(drop)
    };
    // SAFETY: `inherit` allocates nothing and takes no lock.
    unsafe { command.pre_exec(inherit) };
}

/// Lets the child that `command` starts, and whatever that runs, ignore `signal`.
pub(crate) fn let_child_ignore(command: &mut Command, signal: Signal) {
    let ignore = move || {
        // SAFETY: no handler is installed, and `signal` may be called between fork and exec.
        match unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) } {
            libc::SIG_ERR => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: `ignore` allocates nothing and takes no lock.
    unsafe { command.pre_exec(ignore) };
}

/// The proof that this process is a launcher, which may copy itself and owns what its parent left open.
///
/// Invariant: made once in a process, first of all, while the process has one thread. It stays in that
/// thread, and a launcher starts no other one.
#[derive(Debug)]
pub(crate) struct Launching {
    /// The descriptors that were taken.
    taken: RefCell<Vec<RawFd>>,
    /// Neither sent to another thread nor seen by one.
    _here: PhantomData<*const ()>,
}

impl Launching {
    /// Begins a launcher; fails in a process that has begun one before, or that has several threads.
    pub(crate) fn begin() -> io::Result<Self> {
        static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
        if HAS_BEGUN.swap(true, Ordering::SeqCst) {
            return Err(io::Error::other("this process is a launcher already"));
        }
        // Two are enough to know.
        match crate::proc::numbers_in(Path::new("/proc/self/task"), 2)?.len() {
            1 => Ok(Self { taken: RefCell::default(), _here: PhantomData }),
            _ => Err(io::Error::other("a launcher has one thread")),
        }
    }

    /// Takes the descriptor that our parent left open for us under `number`, which it told us.
    pub(crate) fn inherited(&self, number: RawFd) -> io::Result<OwnedFd> {
        let mut taken = self.taken.borrow_mut();
        if number <= libc::STDERR_FILENO || taken.contains(&number) {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        // SAFETY: the parent left it open for us alone. What this process opened itself has other
        // numbers, since this one was in use from the beginning; and nobody took it before.
        let descriptor = unsafe { inherited(number) }?;
        taken.push(number);
        Ok(descriptor)
    }

    /// Makes a copy of this process, in new namespaces if there are to be any; returns the copy's number,
    /// and `None` in the copy.
    #[expect(clippy::unused_self, reason = "the token is the proof, and nothing of it is read")]
    pub(crate) fn fork_into(&self, namespaces: UnshareFlags) -> io::Result<Option<Pid>> {
        // SAFETY: this process has one thread, see the invariant.
        unsafe { fork_into(namespaces) }
    }
}

/// Takes the descriptor `number`, after checking that it is open.
///
/// # Safety
///
/// Nothing else in this process owns the descriptor or closes it: it came from the parent, and this is
/// called once for it.
unsafe fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl` touches no memory.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the descriptor is open, and that it is nobody else's is the caller's word.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Sees to it that no descriptor from `first` on reaches a program that we run.
pub(crate) fn close_when_run(first: u32) -> io::Result<()> {
    let flags = libc::c_int::try_from(libc::CLOSE_RANGE_CLOEXEC).map_err(io::Error::other)?;
    // SAFETY: with this flag nothing is closed now, so nobody loses a descriptor.
    check(unsafe { libc::close_range(first, libc::c_uint::MAX, flags) }).map(drop)
}

/// Returns whether the descriptor `number` is closed when a program is run.
pub(crate) fn is_closed_when_run(number: RawFd) -> io::Result<bool> {
    // SAFETY: a number that is no descriptor is an error, and nothing is done with one that is.
    let flags = check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    Ok(flags & libc::FD_CLOEXEC != 0)
}

/// Makes a copy of this process, as [`Launching::fork_into`] says.
///
/// # Safety
///
/// The process has a single thread. In the copy of another one, locks that other threads held would stay
/// locked for ever, the allocator's among them, and what they were changing would stay half changed.
unsafe fn fork_into(namespaces: UnshareFlags) -> io::Result<Option<Pid>> {
    if namespaces.is_empty() {
        // Some containers refuse the call below, and have nothing against this.
        // SAFETY: the only thread goes on in both; that it is the only one is the caller's word.
        let number = check(unsafe { libc::fork() })?;
        return Ok(Pid::from_raw(number));
    }
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(namespaces.bits());
    arguments.exit_signal = Signal::CHILD.as_raw().cast_unsigned().into();
    // SAFETY: without `CLONE_VM` the copy has its own memory, as after `fork`, and for the only thread,
    // see above, that is all; the structure is as long as we say, and the kernel only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<libc::clone_args>())
    };
    match result {
        -1 => Err(io::Error::last_os_error()),
        number => Ok(i32::try_from(number).ok().and_then(Pid::from_raw)),
    }
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // With this one descriptors could be closed under the feet of other threads.
    let namespaces = namespaces - UnshareFlags::FILES;
    // SAFETY: see above.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(Into::into)
}

/// Ends this process at once, without the duties of whoever it is a copy of.
pub(crate) fn leave(code: u8) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code.into()) }
}

/// Sets attributes of a mount, and of all mounts below it.
pub(crate) fn set_mount_attributes(mount: impl AsFd, set: MountAttrFlags) -> io::Result<()> {
    mount_setattr(mount.as_fd(), libc::AT_RECURSIVE, set, None)
}

/// Sets attributes of a mount, and of all mounts below it, and lets users stand for each other in them as they do in
/// a namespace of users.
pub(crate) fn map_mount(
    mount: impl AsFd,
    set: MountAttrFlags,
    users: BorrowedFd<'_>,
) -> io::Result<()> {
    mount_setattr(mount.as_fd(), libc::AT_RECURSIVE, set, Some(users))
}

/// Sets attributes of a mount alone.
pub(crate) fn set_one_mount_attributes(mount: impl AsFd, set: MountAttrFlags) -> io::Result<()> {
    mount_setattr(mount.as_fd(), 0, set, None)
}

fn mount_setattr(
    mount: BorrowedFd<'_>,
    flags: libc::c_int,
    set: MountAttrFlags,
    users: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = set.bits().into();
    if let Some(users) = users {
        attributes.attr_set |= u64::from(MountAttrFlags::MOUNT_ATTR_IDMAP.bits());
        attributes.userns_fd = u64::try_from(users.as_raw_fd()).map_err(io::Error::other)?;
    }
    let flags = libc::AT_EMPTY_PATH | flags;
    // SAFETY: the path is a C string, and the structure is as long as we say; the kernel only reads
    // both.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw mut attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the version of Landlock that the kernel has, 0 if it has none or does not use it.
pub(crate) fn landlock_version() -> i32 {
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the kernel reads no memory of ours.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Lets every signal do again what it does by itself.
pub(crate) fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // It cannot be done for some of them, which do by themselves what they do.
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Lets `signals` do again what they do by themselves.
pub(crate) fn forget_handlers_of(signals: &[Signal]) {
    for signal in signals {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(signal.as_raw(), libc::SIG_DFL) };
    }
}

/// Lets every signal do again what it does by itself, and none wait.
pub(crate) fn forget_signals() {
    forget_handlers();
    // SAFETY: the set is made before it is used.
    unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// The signals that a process waits for instead of being disturbed by them.
#[derive(Clone, Copy)]
pub(crate) struct Awaited(libc::sigset_t);

impl Awaited {
    /// Holds `signals` back from here on.
    pub(crate) fn hold_back(signals: &[Signal]) -> io::Result<Self> {
        // SAFETY: the set is made before it is used.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in signals {
                check(libc::sigaddset(&raw mut set, signal.as_raw()))?;
            }
            check(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
            Ok(Self(set))
        }
    }

    /// Lets them come again; those that came meanwhile come now.
    pub(crate) fn release(self) -> io::Result<()> {
        let nothing = std::ptr::null_mut();
        // SAFETY: the set was made when this was.
        check(unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const self.0, nothing) }).map(drop)
    }

    /// Waits for the next of the signals, and returns its number.
    pub(crate) fn next(&self) -> io::Result<i32> {
        // SAFETY: the set was made when this was; nothing is written.
        check(unsafe { libc::sigwaitinfo(&raw const self.0, std::ptr::null_mut()) })
    }
}

/// `IFF_UP`, in the size in which it is stored.
const IS_UP: libc::c_short = 1;
/// `AF_INET`, in the size in which it is stored.
const INTERNET: libc::sa_family_t = 2;

/// Switches on the interface `lo` of our network.
pub(crate) fn switch_on_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut request = interface(c"lo");
    // SAFETY: the request is what these two calls take: a name, and the flags in its union.
    unsafe {
        control(socket, libc::SIOCGIFFLAGS, &mut request)?;
        request.ifr_ifru.ifru_flags |= IS_UP;
        control(socket, libc::SIOCSIFFLAGS, &mut request)
    }
}

/// Gives `lo` a further IPv4 address, under the name `alias`.
pub(crate) fn add_ipv4(
    socket: BorrowedFd<'_>,
    alias: &std::ffi::CStr,
    address: std::net::Ipv4Addr,
) -> io::Result<()> {
    let socket_address = |address: std::net::Ipv4Addr| {
        // SAFETY: a structure of numbers, all of which may be zero.
        let mut it: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        it.sin_family = INTERNET;
        it.sin_addr.s_addr = u32::from(address).to_be();
        // SAFETY: both structures are plain numbers of the same length.
        unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(it) }
    };
    let mut request = interface(alias);
    request.ifr_ifru.ifru_addr = socket_address(address);
    // SAFETY: the request is what these two calls take: a name, and an address in its union.
    unsafe {
        control(socket, libc::SIOCSIFADDR, &mut request)?;
        request.ifr_ifru.ifru_addr = socket_address(std::net::Ipv4Addr::BROADCAST);
        control(socket, libc::SIOCSIFNETMASK, &mut request)
    }
}

/// Gives the interface with the number `index` a further IPv6 address; `socket` is one of IPv6.
pub(crate) fn add_ipv6(
    socket: BorrowedFd<'_>,
    index: i32,
    address: std::net::Ipv6Addr,
) -> io::Result<()> {
    let mut request = libc::in6_ifreq {
        ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
        ifr6_prefixlen: 128,
        ifr6_ifindex: index,
    };
    // SAFETY: the request is what this call takes.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFADDR, &raw mut request) }).map(drop)
}

fn interface(name: &std::ffi::CStr) -> libc::ifreq {
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last one stays zero, and ends the name.
    let (_, places) = request.ifr_name.split_last_mut().unzip();
    for (place, byte) in places.unwrap_or_default().iter_mut().zip(name.to_bytes()) {
        *place = byte.cast_signed();
    }
    request
}

/// SAFETY: `call` must be one that takes an `ifreq` whose union is as it should be.
unsafe fn control(
    socket: BorrowedFd<'_>,
    call: libc::Ioctl,
    request: &mut libc::ifreq,
) -> io::Result<()> {
    // SAFETY: as above.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), call, &raw mut *request) }).map(drop)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test has other threads beside it, so that it cannot be a launcher.
    #[test]
    fn a_process_with_several_threads_is_no_launcher() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        assert!(Launching::begin().is_err());
        drop(stop);
        other.join().unwrap().unwrap_err();
        let again = Launching::begin().unwrap_err();
        assert_eq!(again.to_string(), "this process is a launcher already");
    }

    #[test]
    fn a_descriptor_is_taken_once_and_never_a_standard_stream() {
        let launching = Launching { taken: RefCell::default(), _here: PhantomData };
        for number in [-1, 0, 1, 2] {
            assert!(launching.inherited(number).is_err(), "{number}");
        }
        let (kept, _other) = io::pipe().unwrap();
        // Its number is given away, so that nobody else in this test owns it.
        let number = std::os::fd::IntoRawFd::into_raw_fd(OwnedFd::from(kept));
        let taken = launching.inherited(number).unwrap();
        assert_eq!(taken.as_raw_fd(), number);
        assert!(launching.inherited(number).is_err(), "it was taken twice");
    }
}
