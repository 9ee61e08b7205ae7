//! Doors: the host listens in the network of a cage, and nobody else does.

use std::io::{Read as _, Write as _};

use ic_confine::{Child, Network};

use super::{on_rungs, soon, text};

#[test]
fn the_host_answers_in_the_network_of_the_cage() {
    on_rungs(ic_confine::Rung::has_network, |ground| async move {
        let mut cage = ground.cage();
        let addresses = vec!["10.7.7.7".parse().unwrap(), "fd00::7".parse().unwrap()];
        cage.network = Network::Doors { ports: vec![443, 8080], addresses };
        let program = "
import socket
for family, address, port in [(2, '127.9.9.9', 443), (2, '10.7.7.7', 8080), (10, 'fd00::7', 443),
                              (2, '127.0.0.1', 3128), (2, '127.0.0.1', 53)]:
    with socket.socket(family) as it:
        it.settimeout(20)
        it.connect((address, port))
        print(it.recv(100).decode(), flush=True)
for family, address, port in [(2, '10.7.7.8', 443), (2, '127.0.0.1', 22), (10, 'fd00::8', 443)]:
    try:
        with socket.socket(family) as it:
            it.settimeout(20)
            it.connect((address, port))
            print('reached', address, port)
    except OSError:
        print('no')
";
        let spec = ground.spec(cage, "/usr/bin/python3", &["-c", program]);
        let Child { stdin, stdout, stderr, mut process, doors, .. } =
            ground.launcher.start(&spec).unwrap();
        drop(stdin);
        let doors = soon(doors.expect("doors").come()).await.unwrap();
        let mut serving = Vec::new();
        for listener in doors.ports.into_iter().chain([doors.proxy, doors.dns_tcp]) {
            serving.push(std::thread::spawn(move || {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let local = stream.local_addr().unwrap();
                stream.write_all(local.to_string().as_bytes()).unwrap();
                stream.read_to_end(&mut Vec::new()).ok();
            }));
        }
        let (said, complained) = tokio::join!(text(stdout), text(stderr));
        let expected = "127.9.9.9:443\n10.7.7.7:8080\n[fd00::7]:443\n127.0.0.1:3128\n\
             127.0.0.1:53\nno\nno\nno\n";
        assert_eq!((said.as_str(), complained.as_str()), (expected, ""), "{}", ground.rung);
        soon(process.stop()).await.unwrap();
    });
}

#[test]
fn a_cage_that_is_not_made_has_no_doors() {
    on_rungs(ic_confine::Rung::has_network, |ground| async move {
        let mut cage = ground.cage();
        cage.network = Network::Doors { ports: vec![443], addresses: Vec::new() };
        cage.seen = vec![ground.seen("missing", ic_confine::Access::Read)];
        let Child { mut process, doors, .. } =
            ground.launcher.start(&ground.spec(cage, "/bin/true", &[])).unwrap();
        // They may have come before the rest failed; then they lead nowhere.
        soon(doors.expect("doors").come()).await.ok();
        assert_eq!(soon(process.wait()).await.unwrap().code(), Some(125), "{}", ground.rung);
    });
}
