# A scripted MCP server with a log, which says nothing until it was told how much anybody wants to hear.
#
#   talker.py DIRECTORY [modern]
#
# DIRECTORY/received: each line as it came. `modern`: it speaks the newest revision alone, in which each
# request says how much. The tool `say` says one thing of each level, and `die` ends it.

import json
import os
import sys

from scripted import TEXT, Server, text_result, tool

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class Talker(Server):
    def __init__(self, directory, is_modern):
        super().__init__(directory)
        self.level = None
        self.is_modern = is_modern
        self.tools = [tool("say", {"word": TEXT}), tool("die")]
        self.received = open(self.path("received"), "ab", buffering=0)

    def on_line(self, line):
        self.received.write(line)
        message = json.loads(line)
        method, number, params = message.get("method"), message.get("id"), message.get("params", {})
        if self.is_modern:
            self.level = params.get("_meta", {}).get("io.modelcontextprotocol/logLevel")
            if method == "initialize":
                return self.fail(number, -32601, "no such method")
            if method == "server/discover":
                more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
                capabilities = {"tools": {}, "logging": {}}
                return self.answer(number, {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **more})
        if method == "logging/setLevel":
            self.level = params["level"]
            return self.answer(number, {})
        super().on_line(line)

    def on_call(self, number, params, line):
        if params["name"] == "die":
            os._exit(1)
        wanted = LEVELS[LEVELS.index(self.level):] if self.level else []
        for level in wanted:
            data = "%s %s." % (level, params["arguments"]["word"])
            self.notify("notifications/message", {"level": level, "data": data})
        self.answer(number, text_result("said %d" % len(wanted)))


if __name__ == "__main__":
    Talker(sys.argv[1], "modern" in sys.argv[2:]).run()
