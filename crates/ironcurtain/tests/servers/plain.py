"""A small MCP server for tests: it says of itself and of its tools what a file says.

usage: plain.py FILE

FILE holds JSON: {"name", "version", "tools", "marker"?, "stderr"?, "exit"?, "wait"?}. `marker` is a file
that the server makes when it starts, so that a test can tell whether it was started at all; `stderr` is
written to standard error; with `exit` it ends at once with that code; it answers `initialize` only when
the file called `wait` is there.
"""

import json
import os
import sys
import time


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        said = json.load(file)
    if "marker" in said:
        with open(said["marker"], "a", encoding="utf-8") as marker:
            marker.write(f"{os.getpid()}\n")
    if "stderr" in said:
        sys.stderr.write(said["stderr"] + "\n")
        sys.stderr.flush()
    if "exit" in said:
        sys.exit(said["exit"])
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "initialize":
            while "wait" in said and not os.path.exists(said["wait"]):
                time.sleep(0.01)
            answer["result"] = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": said["name"], "version": said["version"]},
            }
        elif request["method"] == "tools/list":
            answer["result"] = {"tools": said["tools"]}
        else:
            answer["error"] = {"code": -32601, "message": "there is no such method"}
        # Not only ASCII, so that what a test puts in arrives as it is.
        sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        sys.stdout.flush()


main()
