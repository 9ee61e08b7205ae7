"""Tries to get something past the door to package registries; prints what each attempt was answered.

With an argument it asks that server itself, without any protection, which is the control.
"""

import json
import os
import socket
import ssl
import sys

NPM = "registry.npmjs.org"
GOOD = {"Accept": "*/*"}

# name, method, path, headers, body
ATTEMPTS = [
    ("fine", "GET", "/tiny", {}, b""),
    ("fine head", "HEAD", "/tiny", {}, b""),
    ("redirect within", "GET", "/moved", {}, b""),
    ("put", "PUT", "/tiny", {}, b""),
    ("post", "POST", "/tiny", {}, b"secret"),
    ("delete", "DELETE", "/tiny", {}, b""),
    ("body", "GET", "/tiny", {}, b"secret"),
    ("authorization", "GET", "/tiny", {"Authorization": "Bearer x"}, b""),
    ("cookie", "GET", "/tiny", {"Cookie": "a=b"}, b""),
    ("otp", "GET", "/tiny", {"npm-otp": "123456"}, b""),
    ("query", "GET", "/tiny?secret=1", {}, b""),
    ("empty query", "GET", "/tiny?", {}, b""),
    ("dots", "GET", "/tiny/../-/user", {}, b""),
    ("encoded dots", "GET", "/tiny/%2e%2e/-/user", {}, b""),
    ("encoded slash", "GET", "/tiny%2f-%2fuser", {}, b""),
    ("own interface", "GET", "/-/user", {}, b""),
    ("search", "GET", "/-/v1/search", {}, b""),
    ("upgrade", "GET", "/tiny", {"Connection": "close, Upgrade", "Upgrade": "websocket"}, b""),
    ("other host in the request", "GET", "/tiny", {"Host": "evil.example"}, b""),
    ("absolute other host", "GET", "https://evil.example/tiny", {}, b""),
    ("redirect elsewhere", "GET", "/away", {}, b""),
    ("redirect to a query", "GET", "/asked", {}, b""),
    ("other override", "GET", "/tiny", {"X-HTTP-Method-Override": "DELETE", "npm-session": "secret"}, b""),
]
CONNECTS = [
    ("connect elsewhere", "evil.example:443"),
    ("connect other port", NPM + ":80"),
    ("connect no port", NPM),
    ("connect metadata", "169.254.169.254:443"),
    ("connect loopback", "127.0.0.1:22"),
    ("connect beneath", "evil." + NPM + ":443"),
    ("connect dot", NPM + ".:443"),
    ("connect user", "x@" + NPM + ":443"),
    ("connect registry that is off", "pypi.org:443"),
]


def proxy():
    host, port = os.environ["HTTPS_PROXY"].removeprefix("http://").split(":")
    stream = socket.create_connection((host, int(port)), 20)
    return stream


def connect(target):
    stream = proxy()
    stream.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        got = stream.recv(4096)
        if not got:
            break
        answer += got
    return stream, answer.split(b" ")[1].decode() if b" " in answer else "cut"


def tls(name):
    stream, status = connect(NPM + ":443")
    assert status == "200", status
    return ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]).wrap_socket(stream, server_hostname=name)


def ask(stream, method, path, headers, body):
    lines = {"Host": NPM, "Connection": "close", **GOOD, **headers}
    if body:
        lines["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    stream.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
    answer = b""
    while True:
        got = stream.recv(65536)
        if not got:
            break
        answer += got
    head = answer.split(b"\r\n\r\n")[0].decode(errors="replace")
    location = [line.split(" ", 1)[1] for line in head.split("\r\n") if line.lower().startswith("location:")]
    return " ".join([head.split(" ")[1] if " " in head else "cut"] + location)


def attempt(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__


said = {}
if len(sys.argv) == 2:
    for name, method, path, headers, body in ATTEMPTS:
        target = ("127.0.0.1", int(sys.argv[1]))
        said[name] = attempt(lambda: ask(socket.create_connection(target, 20), method, path, headers, body))
else:
    for name, method, path, headers, body in ATTEMPTS:
        said[name] = attempt(lambda: ask(tls(NPM), method, path, headers, body))
    for name, target in CONNECTS:
        said[name] = attempt(lambda: connect(target)[1])
    said["plain"] = attempt(lambda: ask(proxy(), "GET", f"http://{NPM}/tiny", {}, b""))
    context = ssl._create_unverified_context()

    def other_name():
        stream, _ = connect(NPM + ":443")
        return ask(context.wrap_socket(stream, server_hostname="evil.example"), "GET", "/tiny", {}, b"")

    said["other name in TLS"] = attempt(other_name)

    def no_tls():
        stream, _ = connect(NPM + ":443")
        return ask(stream, "GET", "/tiny", {}, b"")

    said["no TLS"] = attempt(no_tls)
print("ANSWERS " + json.dumps(said))
