"""A git host over https, for tests: git http-backend behind TLS, with a few bad manners on request.

argv: root of the repositories, certificate, key, log of requests.
Prints its port. The first part of a path says how a request is dealt with:
  /open/   served            /auth/   wants ada and the right password
  /dumb/   files only        /lead/   leads to what follows /lead/ in the environment variable LEAD
  /echo/   wants a password, and says in its answer what it was sent
  /tell/   wants a password, and says it in every way that comes to mind
  /flood/  an endless answer
  /refs/   an endless list of refs
"""

import base64
import http.server
import json
import os
import ssl
import subprocess
import sys

ROOT, CERTIFICATE, KEY, LOG = sys.argv[1:5]
PASSWORD = os.environ.get("PASSWORD", "")
LEAD = os.environ.get("LEAD", "")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self):
        with open(LOG, "a", encoding="utf-8") as log:
            entry = {"path": self.path, "authorization": self.headers.get("Authorization")}
            log.write(json.dumps(entry) + "\n")

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                chunk = self.rfile.read(size)
                self.rfile.readline()
                if size == 0:
                    return body
                body += chunk
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, code, text, **headers):
        data = text if isinstance(text, bytes) else text.encode()
        self.send_response(code)
        self.send_header("Content-Type", headers.pop("kind", "text/plain"))
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def sent(self):
        sent = self.headers.get("Authorization") or ""
        if not sent.startswith("Basic "):
            return None
        return base64.b64decode(sent[6:]).decode()

    def serve(self):
        self.note()
        body = self.body()
        manner, _, rest = self.path.lstrip("/").partition("/")
        if manner == "lead":
            return self.say(302, "elsewhere", Location=LEAD + rest)
        if manner in ("auth", "echo", "tell") and self.sent() is None:
            return self.say(401, "who is there?", WWW_Authenticate='Basic realm="host"')
        if manner == "auth" and self.sent() != "ada:" + PASSWORD:
            return self.say(401, "not you", WWW_Authenticate='Basic realm="host"')
        if manner == "echo":
            return self.say(403, "you sent " + self.sent())
        if manner == "tell":
            sent = self.sent().partition(":")[2]
            hexed = sent.encode().hex()
            said = [sent[::-1], hexed, hexed.upper(), "".join("%%%02x" % it for it in sent.encode())]
            for pad in ("", "x", "xx"):
                said.append(base64.b64encode((pad + sent).encode()).decode())
                said.append(base64.urlsafe_b64encode((pad + sent).encode()).decode())
            said.append("\n".join(sent))
            said.append("".join(chr(ord(it) + 1) for it in sent))
            return self.say(403, "\n".join(said))
        if manner == "refs":
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.end_headers()
            self.close_connection = True
            line = lambda text: b"%04x%s" % (len(text) + 4, text)
            try:
                self.wfile.write(line(b"# service=git-upload-pack\n") + b"0000")
                self.wfile.write(line(b"1" * 40 + b" HEAD\0side-band-64k ofs-delta\n"))
                many = b"".join(line(b"1" * 40 + b" refs/heads/%08d\n" % at) for at in range(20000))
                while True:
                    self.wfile.write(many)
            except OSError:
                return None
        if manner == "dumb":
            path = os.path.join(ROOT, rest.split("?")[0])
            if not os.path.isfile(path):
                return self.say(404, "no")
            with open(path, "rb") as file:
                return self.say(200, file.read())
        if manner == "flood":
            self.send_response(200)
            self.send_header("Content-Type", "application/x-git-upload-pack-advertisement")
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.wfile.write(b"0" * 65536)
            except OSError:
                return None
        return self.backend(rest, body)

    def backend(self, rest, body):
        path, _, query = rest.partition("?")
        variables = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROJECT_ROOT": ROOT,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": "/" + path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "REMOTE_USER": "ada",
            "REMOTE_ADDR": "127.0.0.1",
        }
        ran = subprocess.run(
            ["git", "http-backend"], input=body, env=variables, capture_output=True, check=False
        )
        head, _, data = ran.stdout.partition(b"\r\n\r\n")
        code, kind = 200, "text/plain"
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "Status":
                code = int(value.split()[0])
            elif name == "Content-Type":
                kind = value
        return self.say(code, data, kind=kind)

    do_GET = do_POST = serve


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_address[1], flush=True)
server.serve_forever()
