# A scripted MCP server that behaves, and writes down every line that it receives.
#
#   recorder.py DIRECTORY [AUDIT-LOGS]
#
# DIRECTORY/received: each line as it came. DIRECTORY/intents: for each call, how many calls had come
# by then, and how many were in the audit log (a pattern of files) as allowed at that moment.
# `slow` is answered when `release` is called with its name, or when the name comes through
# DIRECTORY/release, which is a fifo.

import glob
import json
import os
import sys
import threading

from scripted import ANYTHING, TEXT, Server, text_result, tool


class Recorder(Server):
    def __init__(self, directory, logs):
        super().__init__(directory)
        self.logs = logs
        self.n_calls = 0
        self.waiting = {}
        self.released = set()
        self.received = open(self.path("received"), "ab", buffering=0)
        echo = {"name": "echo", "description": "Gives back.", "inputSchema": ANYTHING}
        summed = {"type": "object", "properties": {"sum": {}}, "required": ["sum"]}
        self.tools = [
            echo,
            tool("add", {"a": {"type": "number"}, "b": {"type": "number"}}, outputSchema=summed),
            tool("slow", {"name": TEXT}),
            tool("release", {"name": TEXT}),
            tool("steps", {"n": {"type": "integer"}}),
            tool("read", {"path": TEXT}),
            tool("rich"),
            tool("fail"),
            tool("process"),
            tool("forbidden"),
            tool("ask"),
        ]
        try:
            os.mkfifo(self.path("release"))
        except FileExistsError:
            # It was started before, or is running twice.
            pass
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        # Open for writing, too, or what is written while nobody else writes could be lost.
        with os.fdopen(os.open(self.path("release"), os.O_RDWR), "rb", buffering=0) as names:
            for name in names:
                self.release(name.decode().strip())

    def release(self, name):
        with self.lock:
            number = self.waiting.pop(name, None)
            if number is None:
                # It may come before what it is for.
                self.released.add(name)
        if number is not None:
            self.answer(number, text_result("released " + name))

    def on_line(self, line):
        self.received.write(line)
        super().on_line(line)

    def on_other(self, message):
        if message.get("method") == "notifications/cancelled":
            number = message["params"]["requestId"]
            with self.lock:
                names = [name for name, it in self.waiting.items() if it == number]
                for name in names:
                    del self.waiting[name]
            self.log("cancelled %s %s" % (json.dumps(number), " ".join(names)))

    def on_call(self, number, params, line):
        self.note_intents()
        name, arguments = params["name"], params["arguments"]
        if name == "echo":
            self.echo(number, line.decode())
        elif name == "add":
            summed = arguments["a"] + arguments["b"]
            self.answer(number, text_result(str(summed), structuredContent={"sum": summed}))
        elif name == "slow":
            # So many that a server may not speak of each.
            if not arguments["name"].startswith("quiet"):
                self.log("began %s." % arguments["name"])
            with self.lock:
                self.waiting[arguments["name"]] = number
                is_released = arguments["name"] in self.released
            if is_released:
                self.release(arguments["name"])
        elif name == "release":
            self.release(arguments["name"])
            self.answer(number, text_result("done"))
        elif name == "steps":
            token = params.get("_meta", {}).get("progressToken")
            for step in range(arguments["n"]):
                progress = {"progressToken": token, "progress": step, "total": arguments["n"]}
                self.notify("notifications/progress", {**progress, "message": "step"})
            self.answer(number, text_result("done"))
        elif name == "rich":
            more = {"x-new": {"a": [1, None]}, "_meta": {"their.own/key": 1}}
            block = {"type": "new-kind", "x": {"y": []}, "annotations": {"priority": 1}}
            # As the built-in fetch server says where a page leads; from this one it is a result.
            structured = {"z": 1, "a": 2, "redirect": {"location": "https://a.example/"}}
            self.answer(number, {"content": [block], "structuredContent": structured, **more})
        elif name == "fail":
            self.fail(number, -32050, "failed on purpose", data={"why": [1]})
        elif name == "process":
            known = {"pid": os.getpid(), "environment": dict(os.environ)}
            self.answer(number, text_result(json.dumps(known)))
        else:
            self.answer(number, text_result("did " + name))

    def echo(self, number, line):
        """Gives back the arguments as they came: reading and writing would change numbers."""
        begin = line.index('"arguments":') + len('"arguments":')
        _, end = json.JSONDecoder().raw_decode(line, begin)
        raw = line[begin:end]
        content = json.dumps([{"type": "text", "text": raw}], ensure_ascii=False)
        result = '{"content":%s,"structuredContent":%s}' % (content, raw)
        self.write(('{"jsonrpc":"2.0","id":%d,"result":%s}\n' % (number, result)).encode())

    def note_intents(self):
        self.n_calls += 1
        if self.logs is None:
            return
        n_intents = 0
        for log in glob.glob(self.logs):
            with open(log, "rb") as lines:
                for line in lines:
                    n_intents += b'"kind":"intent"' in line and b'"verdict":"allow"' in line
        with open(self.path("intents"), "a") as intents:
            intents.write("%d %d\n" % (self.n_calls, n_intents))


if __name__ == "__main__":
    Recorder(sys.argv[1], sys.argv[2] if 2 < len(sys.argv) else None).run()
