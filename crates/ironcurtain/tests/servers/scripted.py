# What the scripted MCP servers of these tests share: lines in, lines out, and a list of tools.
# Standard library only. It is no example of a good server.

import json
import os
import sys
import threading

ANYTHING = {"type": "object", "properties": {"value": {}}}
TEXT = {"type": "string"}


def tool(name, properties=None, **more):
    schema = {"type": "object", "properties": properties or {}, "required": list(properties or {})}
    return {"name": name, "description": "The tool " + name + ".", "inputSchema": schema, **more}


def text_result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


class Server:
    """Answers `initialize` and `tools/list`; calls go to `on_call`."""

    def __init__(self, directory):
        self.directory = directory
        self.lock = threading.Lock()
        self.out = sys.stdout.buffer
        self.tools = []
        # How often it was started, by number of process.
        with open(self.path("starts"), "a") as starts:
            starts.write("%d\n" % os.getpid())

    def run(self):
        for line in sys.stdin.buffer:
            self.on_line(line)

    def on_line(self, line):
        message = json.loads(line)
        method = message.get("method")
        if "id" not in message or method is None:
            self.on_other(message)
        elif method == "initialize":
            self.on_initialize(message["id"])
        elif method == "tools/list":
            self.on_list(message["id"], message.get("params", {}))
        elif method == "tools/call":
            self.on_call(message["id"], message["params"], line)
        else:
            self.fail(message["id"], -32601, "no such method")

    def on_initialize(self, number):
        self.answer(number, self.introduction("2025-11-25"))

    def introduction(self, protocol):
        info = {"name": "scripted", "version": "1"}
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        return {"protocolVersion": protocol, "capabilities": capabilities, "serverInfo": info}

    def on_list(self, number, params):
        self.answer(number, {"tools": self.tools})

    def on_call(self, number, params, line):
        pass

    def on_other(self, message):
        pass

    def answer(self, number, result):
        self.send({"jsonrpc": "2.0", "id": number, "result": result})

    def fail(self, number, code, text, **more):
        error = {"code": code, "message": text, **more}
        self.send({"jsonrpc": "2.0", "id": number, "error": error})

    def ask(self, number, method, params=None):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def log(self, text):
        self.notify("notifications/message", {"level": "warning", "logger": "test", "data": text})

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data):
        with self.lock:
            self.out.write(data)
            self.out.flush()

    def path(self, name):
        return os.path.join(self.directory, name)
