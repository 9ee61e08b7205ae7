//! Programs that are run within our own cage.

use super::*;

const LIMITS: InnerLimits = InnerLimits {
    time_max: Duration::from_secs(20),
    output_bytes_max: 4096,
    complaint_bytes_max: 4096,
    memory_bytes_max: None,
    excess: Excess::End,
};

/// Runs a line of shell; only the shell and what is in `runs` can be run.
fn shell(
    line: &str,
    input: &str,
    limits: InnerLimits,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<InnerOutput, InnerError> {
    let place = tempfile::tempdir().unwrap();
    let directory = rustix::fs::open(
        place.path(),
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let runs = [
        "/bin/sh",
        "/usr/bin/sleep",
        "/bin/sleep",
        "/usr/bin/head",
        "/usr/bin/yes",
        "/lib64",
        "/lib",
        "/usr/lib",
    ]
    .map(PathBuf::from);
    let arguments = ["-c", line].map(OsString::from);
    let environment =
        [("PATH", "/usr/bin:/bin"), ("ONLY", "this")].map(|(n, v)| (n.into(), v.into()));
    let spec = InnerSpec {
        program: Path::new("/bin/sh"),
        arguments: &arguments,
        environment: &environment,
        directory: directory.as_fd(),
        input: input.as_bytes(),
        runs: &runs,
        writes: &[directory.as_fd()],
        limits,
    };
    run_inner(&spec, is_cancelled)
}

#[track_caller]
fn said(line: &str, input: &str) -> (String, String, Option<i32>) {
    let InnerOutput { status, output, complaint, .. } =
        shell(line, input, LIMITS, &|| false).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output), text(complaint), status.code())
}

#[test]
fn it_gets_its_words_its_input_and_its_own_environment() {
    assert_eq!(
        said("read x; echo $x $ONLY $HOME.", "in\n"),
        ("in this .\n".into(), String::new(), Some(0))
    );
    assert_eq!(said("echo no >&2; exit 3", ""), (String::new(), "no\n".into(), Some(3)));
    // It may leave its input unread, however long.
    assert_eq!(said("exit 0", &"x".repeat(1 << 20)).2, Some(0));
}

#[test]
fn nothing_else_is_run() {
    if crate::sys::landlock_version() < 2 {
        return;
    }
    let (output, complaint, code) = said("cat /dev/null; echo after", "");
    assert_eq!((output.as_str(), code), ("after\n", Some(0)));
    assert!(complaint.contains("ermission denied"), "{complaint}");
    // Files still move from one directory to another.
    let moved = said("mkdir a b && : >a/x", "");
    assert!(moved.1.contains("mkdir"), "mkdir is a program: {}", moved.1);
}

#[test]
fn nothing_is_written_elsewhere() {
    if !holds_inner() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("file");
    #[expect(clippy::disallowed_methods, reason = "tests make files")]
    std::fs::write(&file, "mine\n").unwrap();
    let (file, new) = (file.to_str().unwrap(), outside.path().join("new"));
    let new = new.to_str().unwrap();
    let (output, complaint, _) = said(
        &format!(
            "echo in >inside; echo no >{file}; echo no >>{file}; echo no >{new}; echo no >/dev/null; \
             read x <inside; read y <{file}; [ -e {new} ] || echo $x $y"
        ),
        "",
    );
    assert_eq!(output, "in mine\n", "{complaint}");
    assert_eq!(complaint.matches("ermission denied").count(), 3, "{complaint}");
}

#[test]
fn it_is_ended_when_it_writes_or_takes_too_much() {
    let kept = shell("yes", "", LIMITS, &|| false).unwrap();
    assert!(kept.is_cut && kept.output.len() == 4096, "{}", kept.output.len());
    let limits = InnerLimits { excess: Excess::PassOver, ..LIMITS };
    let heard = shell("yes | head -n 100000; echo done >&2", "", limits, &|| false).unwrap();
    assert!(heard.is_cut && heard.complaint == b"done\n", "it went on to its end");
    let limits = InnerLimits { time_max: Duration::from_millis(100), ..LIMITS };
    let slow = shell("sleep 1000 & sleep 1000", "", limits, &|| false);
    assert!(matches!(slow, Err(InnerError::TooSlow(_))), "{slow:?}");
    let unwanted = shell("sleep 1000 & sleep 1000", "", LIMITS, &|| true);
    assert!(matches!(unwanted, Err(InnerError::Cancelled)), "{unwanted:?}");
}

#[test]
fn what_it_leaves_behind_is_ended_and_not_waited_for() {
    let (output, ..) = said("sleep 1000 & echo $!", "");
    let pid: i32 = output.trim().parse().unwrap();
    let is_gone = (0..2000).any(|_| {
        rustix::thread::sched_yield();
        let stat = format!("/proc/{pid}/stat");
        #[expect(clippy::disallowed_methods, reason = "tests look at processes")]
        let text = std::fs::read_to_string(stat);
        // Whoever adopted it may take a while to notice.
        text.map_or(true, |text| text.contains(") Z "))
    });
    assert!(is_gone, "{pid}");
}
