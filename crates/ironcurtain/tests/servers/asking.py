# A scripted MCP server that asks things of its client, as each call tells it to.
#
#   asking.py DIRECTORY
#
# Its tool `script` sends the messages of `send` and answers with what came back, once `wait` answers
# came; with `late` it answers first, with `die` it ends itself instead, with `change` it describes its
# tool otherwise first, with `mute` it never answers, and `later` is sent once it is told that a call was
# taken back.
# DIRECTORY/received: each line that came.

import json
import os
import sys

from scripted import Server, text_result, tool

ANY = {"send": {}, "wait": {}, "late": {}, "die": {}, "change": {}, "later": {}, "mute": {}}


class Asking(Server):
    def __init__(self, directory):
        super().__init__(directory)
        self.tools = [dict(tool("script", ANY), inputSchema={"type": "object", "properties": ANY})]
        self.waiting = []
        self.later = []

    def on_line(self, line):
        with open(self.path("received"), "ab") as received:
            received.write(line)
        super().on_line(line)

    def on_call(self, number, params, line):
        arguments = params["arguments"]
        if arguments.get("late"):
            self.answer(number, text_result("answered first"))
        if arguments.get("change"):
            self.tools[0]["description"] = "Does something else."
            self.notify("notifications/tools/list_changed")
        self.later += arguments.get("later", [])
        self.send_all(arguments.get("send", []))
        if arguments.get("die"):
            os._exit(3)
        if not arguments.get("late") and not arguments.get("mute"):
            self.waiting.append((number, arguments.get("wait", 0), []))
            self.settle()

    def send_all(self, messages):
        # In one breath, so that a flood is one.
        lines = [json.dumps({"jsonrpc": "2.0", **it}).encode() + b"\n" for it in messages]
        self.write(b"".join(lines))

    def on_other(self, message):
        if message.get("method") == "notifications/cancelled":
            self.send_all(self.later)
            self.later = []
        if "method" not in message and self.waiting:
            self.waiting[0][2].append(message)
            self.settle()

    def settle(self):
        for entry in list(self.waiting):
            number, wanted, came = entry
            if wanted <= len(came):
                self.waiting.remove(entry)
                self.answer(number, text_result(json.dumps(came)))


Asking(sys.argv[1]).run()
