//! What a cage may use has an end: processes, memory, descriptors, its own place, files.

use ic_confine::{CageSpec, EXIT_EXCESS, EXIT_TOO_MANY, Limits};

use super::{Ground, on_every_ground};

const SMALL: Limits = Limits {
    tasks_max: 310,
    memory_bytes_max: 128 << 20,
    scratch_bytes_max: 8 << 20,
    file_bytes_max: 4 << 20,
    descriptors_max: 64,
    disk_bytes_left_min: 0,
};

async fn python(ground: &Ground, program: &str) -> (String, String, Option<i32>) {
    let cage = CageSpec { limits: SMALL, ..ground.cage() };
    ground.run(&ground.spec(cage, "/usr/bin/python3", &["-c", program])).await
}

#[test]
fn forks_have_an_end() {
    let program = "
import os, time
n = 0
try:
    while n < 20000:
        if os.fork() == 0:
            time.sleep(600)
        n += 1
except OSError:
    print('refused' if n < 400 else n)
";
    on_every_ground(|ground| async move {
        let (said, _, code) = python(&ground, program).await;
        // The kernel refuses, or the guard ends it all, for their number or for their memory.
        let ended = [EXIT_TOO_MANY, EXIT_EXCESS].map(|code| Some(i32::from(code)));
        let is_bounded = said == "refused\n" || ended.contains(&code);
        assert!(is_bounded, "{} as {:?}: {said} {code:?}", ground.rung, ground.who);
    });
}

#[test]
fn the_memory_of_a_process_has_an_end() {
    let program = "
try:
    kept = [bytearray(16 << 20) for _ in range(1000)]
except MemoryError:
    print('refused')
";
    on_every_ground(|ground| async move {
        let (said, _, _) = python(&ground, program).await;
        assert_eq!(said, "refused\n", "{} as {:?}", ground.rung, ground.who);
    });
}

#[test]
fn the_memory_of_all_processes_has_an_end() {
    let program = "
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = b'x' * (64 << 20)
        time.sleep(600)
time.sleep(600)
";
    on_every_ground(|ground| async move {
        let (_, _, code) = python(&ground, program).await;
        assert_eq!(code, Some(i32::from(EXIT_EXCESS)), "{} as {:?}", ground.rung, ground.who);
    });
}

#[test]
fn memory_that_nobody_has_at_hand_has_an_end_too() {
    let program = "
import mmap, time
kept = []
for _ in range(40):
    it = mmap.mmap(-1, 16 << 20, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    for at in range(0, len(it), 4096):
        it[at] = 1
    it.madvise(mmap.MADV_DONTNEED)
    kept.append(it)
time.sleep(600)
";
    on_every_ground(|ground| async move {
        let (_, _, code) = python(&ground, program).await;
        assert_eq!(code, Some(i32::from(EXIT_EXCESS)), "{} as {:?}", ground.rung, ground.who);
    });
}

#[test]
fn threads_have_an_end() {
    let program = "
import threading, time
n = 0
try:
    while n < 2000:
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        n += 1
    time.sleep(600)
except RuntimeError:
    print('refused' if n < 400 else n, flush=True)
    import os
    os._exit(0)
";
    on_every_ground(|ground| async move {
        let (said, _, code) = python(&ground, program).await;
        let ended = [EXIT_TOO_MANY, EXIT_EXCESS].map(|code| Some(i32::from(code)));
        let is_bounded = said == "refused\n" || ended.contains(&code);
        assert!(is_bounded, "{} as {:?}: {said} {code:?}", ground.rung, ground.who);
    });
}

#[test]
fn descriptors_have_an_end() {
    let program = "
import os
kept = []
try:
    while len(kept) < 100000:
        kept.append(os.dup(0))
except OSError:
    print('refused' if len(kept) < 64 else len(kept))
";
    on_every_ground(|ground| async move {
        let (said, _, _) = python(&ground, program).await;
        assert_eq!(said, "refused\n", "{} as {:?}", ground.rung, ground.who);
    });
}

#[test]
fn a_place_of_its_own_has_an_end() {
    let program = "
import os, time
try:
    for n in range(64):
        with open(os.environ['TMPDIR'] + '/' + str(n), 'wb') as file:
            file.write(b'x' * (1 << 20))
            file.flush()
    time.sleep(600)
except OSError:
    print('refused')
";
    on_every_ground(|ground| async move {
        let (said, _, code) = python(&ground, program).await;
        let is_bounded = said == "refused\n" || code == Some(i32::from(EXIT_EXCESS));
        assert!(is_bounded, "{} as {:?}: {said} {code:?}", ground.rung, ground.who);
    });
}

#[test]
fn a_file_has_an_end() {
    let program = "
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open(os.environ['TMPDIR'] + '/file', 'wb') as file:
        file.write(b'x' * (5 << 20))
except OSError:
    print('refused')
";
    on_every_ground(|ground| async move {
        let (said, _, _) = python(&ground, program).await;
        assert_eq!(said, "refused\n", "{} as {:?}", ground.rung, ground.who);
    });
}
