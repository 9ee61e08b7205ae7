//! Many sessions in one process, which know nothing of each other.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;

use ic_session::{Conversation as _, SessionHandle as _};

use super::model::{Scripted, run, say};
use super::world::{USUAL, World, never};

const N_SESSIONS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_sessions_in_one_process_do_not_see_each_other() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let world = std::sync::Arc::new(World::new().await);
    let mut opened = Vec::new();
    for n in 0..N_SESSIONS {
        let code = format!(
            "filesystem.write_file({{path: 'mine.txt', content: 'of {n}'}});\n\
             console.log(filesystem.read_text_file({{path: 'mine.txt'}}));\n\
             filesystem.list_directory({{path: '.'}})"
        );
        let model = Scripted::new([run(&code), say(&format!("answer {n}"))]);
        let (session, ears) = world.open(&model, USUAL).await;
        opened.push((n, model, session, ears));
    }
    // All are open now, and all work at once.
    let mut working = JoinSet::new();
    for (n, model, session, mut ears) in opened {
        working.spawn(async move {
            let answer = session.send_message(&format!("task {n}"), never()).await.unwrap();
            assert_eq!(answer, format!("answer {n}"));
            let result = format!("result: of {n}\n[FILE] mine.txt");
            let expected = [&*format!("person: task {n}"), "model uses execute_code", &*result];
            assert_eq!(model.last_prompt(), expected);
            session.close().await.unwrap();
            let calls: Vec<_> = ears.rest().into_iter().filter(|it| it.contains('.')).collect();
            let expected = ["write_file", "read_text_file", "list_directory"];
            assert_eq!(calls, expected.map(|it| format!("filesystem.{it} done")));
            (n, session)
        });
    }
    let mut n_closed = 0;
    while let Some(closed) = working.join_next().await {
        let (n, session) = closed.unwrap();
        let mine = world.home.session(&session.info().id).join("sandbox/mine.txt");
        assert_eq!(std::fs::read_to_string(mine).unwrap(), format!("of {n}"));
        n_closed += 1;
    }
    assert_eq!(n_closed, N_SESSIONS);
    world.check_nothing_left();
}
