//! What interpreters load from the directory of a script that a setting names, compiled or not.

use std::fs;

use ic_testkit::git_host::git;
use serde_json::json;

use super::super::{Rig, hidden};
use super::{program, session, workspace};

#[test]
fn compiled_modules_beside_a_named_script_are_put_back() {
    for (editor, names, free) in [
        (
            "python3 tools/ed.py",
            &[
                "tools/__pycache__/helper.cpython-311.pyc",
                "tools/helper.abi3.so",
                "tools/helper/__init__.pyc",
            ][..],
            "tools/notes.txt",
        ),
        ("node tools/ed.js", &["tools/x.node", "tools/lib/package.json"], "tools/data.json"),
    ] {
        let rig = Rig::new();
        let ws = workspace(&rig);
        for script in ["tools/ed.py", "tools/ed.js"] {
            rig.place.write(format!("ws/{script}"), "");
        }
        git(&ws, &["config", "core.editor", editor]);
        let rig = rig.peeker(&json!({"contained": true}));
        let mut proxy = session(&rig);
        let plant = |name: &str| {
            format!(
                "os.makedirs(os.path.dirname('./{name}'), exist_ok=True); open('{name}', 'w').close()"
            )
        };
        let texts: Vec<String> = names.iter().chain([&free]).map(|name| plant(name)).collect();
        let call = json!({"where": hidden(&program(&rig, &texts.join("\n")))});
        let answer = proxy.call("peeker__run", &call).bad();
        assert!(answer.contains("host_executes_put_back"), "{editor}: {answer}");
        for name in names {
            assert!(fs::symlink_metadata(ws.join(name)).is_err(), "{editor}: {name}: {answer}");
        }
        proxy.finish();
        assert!(ws.join(free).exists(), "{editor}");
    }
}
