//! What scripts can do.

use ic_sandbox::Ended;

use crate::ground::Ground;

#[tokio::test]
async fn a_script_is_worth_its_last_expression() {
    let ground = Ground::new();
    for (source, value, output) in [
        ("1 + 1", Some("2"), ""),
        ("return 'returned'; 5", Some("returned"), ""),
        (
            "const a: number[] = [1, 2]; a.map((n: number): number => n * 2)",
            Some("[\n  2,\n  4\n]"),
            "",
        ),
        ("await Promise.resolve('awaited')", Some("awaited"), ""),
        (
            "console.log('a', 1, { b: [null] }); console.error('c'); undefined",
            None,
            "a 1 {\n  \"b\": [\n    null\n  ]\n}\nc\n",
        ),
        ("tools.echo({ text: 'ä😀' })", Some("ä😀"), ""),
        ("(await tools.echo({ text: 'x' })) as string", Some("x"), ""),
    ] {
        let run = ground.run(source).await;
        assert_eq!(run.ended, Ended::Done, "{source}: {run:?}");
        assert_eq!(run.value.as_deref(), value, "{source}");
        assert_eq!(run.output, output, "{source}");
    }
    ground.sandbox.close().await;
}
