"""An MCP server for tests that tries whatever it is told to, and says what came of it.

usage: peeker.py

`peek` and `poke` read and write a path that the policy is not told of, since it comes in hexadecimal;
`read` and `write` take one that it judges. `fetch` fetches a URL, `fail` fails with a text, `environment` tells the environment, `run` runs
a program that comes in hexadecimal, and `end` ends the server.
"""

import json
import os
import sys
import urllib.request

TEXT = {"type": "string"}


def tool(name, **properties):
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"name": name, "inputSchema": schema}


TOOLS = [
    tool("peek", where=TEXT),
    tool("poke", where=TEXT, text=TEXT),
    tool("read", path=TEXT),
    tool("write", path=TEXT, text=TEXT),
    tool("fail", text=TEXT),
    tool("fetch", url=TEXT),
    tool("environment"),
    tool("run", where=TEXT),
    tool("end"),
]


def call(name, arguments):
    where = arguments.get("path")
    if "where" in arguments:
        where = bytes.fromhex(arguments["where"]).decode()
    if name in ("peek", "read"):
        if os.path.isdir(where):
            return " ".join(sorted(os.listdir(where)))
        with open(where, encoding="utf-8") as file:
            return file.read()
    if name in ("poke", "write"):
        with open(where, "w", encoding="utf-8") as file:
            file.write(arguments["text"])
        return "written"
    if name == "fetch":
        with urllib.request.urlopen(arguments["url"], timeout=10) as answer:
            return answer.read().decode()
    if name == "run":
        exec(where, {})
        return "done"
    if name == "end":
        os._exit(0)
    if name == "environment":
        return json.dumps(dict(os.environ))
    raise OSError(arguments["text"])


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        params = request.get("params", {})
        if request["method"] == "initialize":
            answer["result"] = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "peeker", "version": "1"},
            }
        elif request["method"] == "tools/list":
            answer["result"] = {"tools": TOOLS}
        elif request["method"] == "tools/call":
            try:
                text, is_error = call(params["name"], params["arguments"]), False
            except OSError as error:
                text, is_error = str(error), True
            content = [{"type": "text", "text": text}]
            answer["result"] = {"content": content, "isError": is_error}
        else:
            answer["error"] = {"code": -32601, "message": "there is no such method"}
        print(json.dumps(answer), flush=True)


main()
