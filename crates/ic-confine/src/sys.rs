//! What no safe interface offers: the few system calls that take `unsafe`.
//!
//! The only `unsafe` code of the workspace. Each function here is safe to call, and says why. What
//! the calls are good for is not known here.

#![expect(unsafe_code, reason = "the one place where system calls are made by hand")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

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

/// Takes the descriptor that our parent left open for us under `number`.
///
/// It is checked to be open, and that nobody else in this process has it is the caller's word; it is
/// called once, first of all.
pub(crate) fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: `fcntl` touches no memory.
    check(unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: the descriptor is open. Closing it could at worst close it under somebody else's
    // feet, which would be an error for them and not undefined behaviour.
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

/// Makes a copy of this process, in new namespaces if there are to be any; returns the copy's number, and
/// `None` in the copy.
///
/// SECURITY: only for a process with a single thread, which a launcher is: in the copy of another
/// one, locks that other threads held would stay locked for ever.
pub(crate) fn fork_into(namespaces: UnshareFlags) -> io::Result<Option<Pid>> {
    if namespaces.is_empty() {
        // Some containers refuse the call below, and have nothing against this.
        // SAFETY: the only thread goes on in both.
        let number = check(unsafe { libc::fork() })?;
        return Ok(Pid::from_raw(number));
    }
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from(namespaces.bits());
    arguments.exit_signal = Signal::CHILD.as_raw().cast_unsigned().into();
    // SAFETY: without `CLONE_VM` the copy has its own memory, as after `fork`; the structure is as
    // long as we say, and the kernel only reads it.
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
    mount_setattr(mount.as_fd(), libc::AT_RECURSIVE, set)
}

/// Sets attributes of a mount alone.
pub(crate) fn set_one_mount_attributes(mount: impl AsFd, set: MountAttrFlags) -> io::Result<()> {
    mount_setattr(mount.as_fd(), 0, set)
}

fn mount_setattr(mount: BorrowedFd<'_>, flags: libc::c_int, set: MountAttrFlags) -> io::Result<()> {
    // SAFETY: a structure of numbers, all of which may be zero.
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = set.bits().into();
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
