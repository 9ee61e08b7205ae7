"""Puts a program that speaks MCP on its standard input and output behind HTTP.

Usage: http_bridge.py PREFIX COMMAND...

Prints the port that it listens on, at 127.0.0.1. Each session of HTTP is a process of its own. Clients
that know no prefixes see the names of tools and prompts without PREFIX.
"""

import json
import queue
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX, COMMAND = sys.argv[1], sys.argv[2:]
LOCAL = ("localhost", "127.0.0.1")
# Nothing that is tried takes this long.
PATIENCE_SECONDS = 90

sessions = {}


def to_client(message):
    result = message.get("result")
    for kind in ("tools", "prompts"):
        for entry in result.get(kind, []) if isinstance(result, dict) else []:
            entry["name"] = entry["name"].removeprefix(PREFIX)
    return message


def to_program(message):
    params = message.get("params") or {}
    if message.get("method") in ("tools/call", "prompts/get"):
        params["name"] = PREFIX + params["name"]
    if message.get("method") == "completion/complete" and "name" in params["ref"]:
        params["ref"]["name"] = PREFIX + params["ref"]["name"]
    return message


class Session:
    """A program, and the streams on which its client hears from it."""

    def __init__(self):
        self.program = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lock = threading.Lock()
        # The streams of requests that are not answered, by the request's id, and the one of a GET.
        self.asked, self.standing = {}, None
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.program.stdout:
            message = to_client(json.loads(line))
            with self.lock:
                if "method" in message:
                    # What is said of a request goes where the request came from: to the latest one.
                    streams = list(self.asked.values()) or [self.standing]
                    stream, is_last = streams[-1], False
                else:
                    stream, is_last = self.asked.pop(json.dumps(message.get("id")), None), True
            if stream is not None:
                stream.put(message)
                if is_last:
                    stream.put(None)

    def send(self, message, stream=None):
        with self.lock:
            if stream is not None:
                self.asked[json.dumps(message["id"])] = stream
            self.program.stdin.write(json.dumps(to_program(message)) + "\n")
            self.program.stdin.flush()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, session=None, body=b"{}"):
        self.send_response(code)
        self.send_header("content-length", str(len(body)))
        if session:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)

    def is_local(self):
        host = (self.headers.get("host") or "").rsplit(":", 1)[0]
        origin = self.headers.get("origin")
        from_here = not origin or origin.split("//")[-1].rsplit(":", 1)[0] in LOCAL
        return host in LOCAL and from_here

    def stream(self, session, messages):
        """Sends messages as events, until there are no more."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("mcp-session-id", session)
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.event("retry: 500\ndata: ")
            while (message := messages.get(timeout=PATIENCE_SECONDS)) is not None:
                self.event("event: message\ndata: " + json.dumps(message))
        except (OSError, queue.Empty):
            pass

    def event(self, text):
        self.wfile.write(f"id: {uuid.uuid4()}\n{text}\n\n".encode())
        self.wfile.flush()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        name = self.headers.get("mcp-session-id")
        if not self.is_local():
            return self.answer(403)
        if message.get("method") == "initialize":
            name = str(uuid.uuid4())
            sessions[name] = Session()
        session = sessions.get(name)
        if session is None:
            error = {"code": -32001, "message": "there is no such session"}
            body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            return self.answer(404 if name else 400, body=body)
        if "id" not in message or "method" not in message:
            session.send(message)
            return self.answer(202, name, b"")
        messages = queue.Queue()
        session.send(message, messages)
        self.stream(name, messages)

    def do_GET(self):
        name = self.headers.get("mcp-session-id")
        session = sessions.get(name)
        if not self.is_local():
            return self.answer(403)
        if session is None:
            return self.answer(404)
        session.standing = queue.Queue()
        self.stream(name, session.standing)

    def do_DELETE(self):
        session = sessions.pop(self.headers.get("mcp-session-id"), None)
        if session is not None:
            session.program.stdin.close()
        self.answer(200)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
# Ends with whoever started it.
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
server.serve_forever()
for session in sessions.values():
    session.program.stdin.close()
    session.program.wait()
