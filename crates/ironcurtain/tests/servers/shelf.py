# A scripted MCP server with resources, prompts and completions, which writes down what it is asked.
#
#   shelf.py DIRECTORY URI...
#
# DIRECTORY/received: each line as it came. It lists the given URIs, one template and one prompt.

import json
import sys

from scripted import Server, text_result, tool


class Shelf(Server):
    def __init__(self, directory, uris):
        super().__init__(directory)
        self.uris = uris
        self.tools = [tool("touch")]
        self.received = open(self.path("received"), "ab", buffering=0)

    def introduction(self, protocol):
        introduction = super().introduction(protocol)
        more = {"resources": {"subscribe": True}, "prompts": {}, "completions": {}}
        introduction["capabilities"].update(more)
        return introduction

    def on_line(self, line):
        self.received.write(line)
        message = json.loads(line)
        self.method, self.params = message.get("method"), message.get("params", {})
        super().on_line(line)

    def on_call(self, number, params, line):
        for uri in self.uris:
            self.notify("notifications/resources/updated", {"uri": uri})
        self.answer(number, text_result("touched"))

    def fail(self, number, code, message, **more):
        """Whatever the others do not know is asked here."""
        answers = {
            "resources/list": lambda _: {"resources": [{"uri": uri, "name": "r"} for uri in self.uris]},
            "resources/templates/list": lambda _: {
                "resourceTemplates": [{"uriTemplate": "shelf://%s/{id}" % self.uris[0][-1], "name": "t"}]
            },
            "resources/read": lambda it: {"contents": [{"uri": it["uri"], "text": "read " + it["uri"]}]},
            "resources/subscribe": lambda _: {},
            "prompts/list": lambda _: {"prompts": [{"name": "p", "arguments": [{"name": "x"}]}]},
            "prompts/get": lambda it: {"messages": [{"role": "user", "content": {"type": "text", "text": it["name"]}}]},
            "completion/complete": lambda it: {"completion": {"values": [it["ref"].get("name", "?")]}},
        }
        answer = answers.get(self.method)
        if answer is None:
            super().fail(number, code, message, **more)
        else:
            self.answer(number, answer(self.params))


if __name__ == "__main__":
    Shelf(sys.argv[1], sys.argv[2:]).run()
