# A scripted MCP server with resources, prompts and completions, which writes down what it is asked.
#
#   shelf.py DIRECTORY [--hold METHOD] [--page N] [--many N] [--fat BYTES] URI...
#
# DIRECTORY/received: each line as it came. It lists the given URIs, one template and one prompt.
# A METHOD that is held is answered once its name has come through DIRECTORY/release, which is a fifo.
# Lists have N entries to a page, there are N more URIs, and each is described in so many bytes.
# The tool `grow` adds one of everything and says so; `touch` says that every resource is not what it was.

import json
import os
import sys
import threading

from scripted import Server, text_result, tool

KEYS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
    "tools/list": "tools",
}


class Shelf(Server):
    def __init__(self, directory, words):
        super().__init__(directory)
        self.held, self.page, n_more, n_bytes, self.uris = {}, None, 0, 0, []
        words = iter(words)
        for word in words:
            if word == "--hold":
                self.held[next(words)] = []
            elif word == "--page":
                self.page = int(next(words))
            elif word == "--many":
                n_more = int(next(words))
            elif word == "--fat":
                n_bytes = int(next(words))
            else:
                self.uris.append(word)
        self.mark = self.uris[0][-1]
        self.uris += ["demo://more/%d" % n for n in range(n_more)]
        self.fat = {"description": "x" * n_bytes} if n_bytes else {}
        self.prompts = ["p"]
        self.templates = ["shelf://%s/{id}" % self.mark]
        self.tools = [tool("touch"), tool("grow")]
        self.received = open(self.path("received"), "ab", buffering=0)
        if self.held:
            os.mkfifo(self.path("release"))
            threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        # Open for writing, too, or what is written while nobody else writes could be lost.
        with os.fdopen(os.open(self.path("release"), os.O_RDWR), "rb", buffering=0) as methods:
            for method in methods:
                with self.lock:
                    lines = self.held.pop(method.decode().strip(), [])
                for line in lines:
                    self.serve(line)

    def introduction(self, protocol):
        introduction = super().introduction(protocol)
        more = {"resources": {"subscribe": True}, "prompts": {}, "completions": {}}
        introduction["capabilities"].update(more)
        return introduction

    def on_line(self, line):
        self.received.write(line)
        with self.lock:
            held = self.held.get(json.loads(line).get("method"))
            if held is not None:
                held.append(line)
        if held is None:
            self.serve(line)

    def serve(self, line):
        message = json.loads(line)
        answer = getattr(self, "when_" + message.get("method", "").replace("/", "_"), None)
        if answer is None:
            super().on_line(line)
        else:
            self.answer(message["id"], answer(message.get("params", {})))

    def on_call(self, number, params, line):
        if params["name"] == "grow":
            more = "demo://%s/grown/%d" % (self.mark, len(self.uris))
            self.uris.append(more)
            self.prompts.append("p%d" % len(self.prompts))
            self.templates.append("grown%d://{id}" % len(self.templates))
            self.notify("notifications/resources/list_changed")
            self.notify("notifications/prompts/list_changed")
            self.answer(number, text_result(more))
            return
        for uri in self.uris:
            self.notify("notifications/resources/updated", {"uri": uri})
        self.answer(number, text_result("touched"))

    def on_list(self, number, params):
        self.answer(number, self.paged("tools/list", params, self.tools))

    def paged(self, method, params, entries):
        """Returns one page of a list."""
        begin = int(params.get("cursor", "0"))
        end = begin + self.page if self.page else len(entries)
        more = {"nextCursor": str(end)} if end < len(entries) else {}
        return {KEYS[method]: entries[begin:end], **more}

    def when_resources_list(self, params):
        entries = [{"uri": uri, "name": "r", **self.fat} for uri in self.uris]
        return self.paged("resources/list", params, entries)

    def when_resources_templates_list(self, params):
        entries = [{"uriTemplate": template, "name": "t"} for template in self.templates]
        return self.paged("resources/templates/list", params, entries)

    def when_prompts_list(self, params):
        entries = [{"name": name, "arguments": [{"name": "x"}]} for name in self.prompts]
        return self.paged("prompts/list", params, entries)

    def when_resources_read(self, params):
        return {"contents": [{"uri": params["uri"], "text": "read " + params["uri"]}]}

    def when_resources_subscribe(self, params):
        return {}

    def when_resources_unsubscribe(self, params):
        return {}

    def when_prompts_get(self, params):
        return {"messages": [{"role": "user", "content": {"type": "text", "text": params["name"]}}]}

    def when_completion_complete(self, params):
        return {"completion": {"values": [params["ref"].get("name", "?")]}}


if __name__ == "__main__":
    Shelf(sys.argv[1], sys.argv[2:]).run()
