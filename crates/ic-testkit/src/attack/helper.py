"""An MCP server that is not ours and does to files whatever it is told, as far as its cage lets it."""

import json
import os
import sys

TOOLS = {
    "write_file": ["path", "content"],
    "edit_file": ["path", "edits"],
    "create_directory": ["path"],
    "move_file": ["source", "destination"],
    "delete_file": ["path"],
    "make_link": ["path", "target"],
}


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)


def obey(tool, arguments):
    path = arguments.get("path")
    if tool == "write_file":
        write(path, arguments["content"])
    elif tool == "edit_file":
        with open(path) as file:
            text = file.read()
        write(path, text.replace("# keep", arguments["edits"][0]["newText"], 1))
    elif tool == "create_directory":
        os.makedirs(path, exist_ok=True)
    elif tool == "move_file":
        os.rename(arguments["source"], arguments["destination"])
    elif tool == "delete_file":
        os.unlink(path)
    elif tool == "make_link":
        os.symlink(arguments["target"], path)


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "helper", "version": "1"},
        }
    if method == "tools/list":
        schema = lambda names: {"type": "object", "properties": {name: {} for name in names}}
        tools = [{"name": name, "inputSchema": schema(TOOLS[name])} for name in TOOLS]
        return {"tools": tools}
    if method == "tools/call":
        try:
            obey(params["name"], params["arguments"])
            text, is_bad = "done", False
        except OSError as error:
            text, is_bad = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": is_bad}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
