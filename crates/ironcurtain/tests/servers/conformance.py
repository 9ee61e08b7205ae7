"""A server with everything that the public MCP conformance suite calls, each as the suite expects it."""

import json
import sys
import threading

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
# How long a client may take to answer.
PATIENCE_SECONDS = 60

lock = threading.Lock()
waiting = {}


def send(**message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method, params):
    """Asks the client, and returns its whole answer."""
    with lock:
        name, answered = f"of-server-{len(waiting)}", threading.Event()
        waiting[name] = [answered, None]
    send(id=name, method=method, params=params)
    answered.wait(PATIENCE_SECONDS)
    return waiting[name][1] or {"error": "no answer"}


def elicit(message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    answer = ask("elicitation/create", {"message": message, "requestedSchema": schema})
    if "error" in answer:
        return result(text(json.dumps(answer["error"])), isError=True)
    given = answer["result"]
    content = json.dumps(given.get("content", {}))
    return result(text(f"Elicitation completed: action={given['action']}, content={content}"))


def text(words):
    return {"type": "text", "text": words}


def resource(uri, kind, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


def result(*content, **more):
    return {"content": list(content), **more}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
MIXED = resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
STRING = {"type": "string"}


def with_logging(_, __):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        send(method="notifications/message", params={"level": "info", "data": words})
    return result(text("done"))


def with_progress(_, meta):
    token = meta.get("progressToken")
    for done in (0, 50, 100):
        params = {"progressToken": token, "progress": done, "total": 100}
        send(method="notifications/progress", params=params)
    return result(text(str(token)))


def sampling(arguments, _):
    message = {"role": "user", "content": text(arguments["prompt"])}
    answer = ask("sampling/createMessage", {"messages": [message], "maxTokens": 100})
    if "error" in answer:
        return result(text(json.dumps(answer["error"])), isError=True)
    return result(text("LLM response: " + answer["result"]["content"].get("text", "")))


def elicitation(arguments, _):
    fields = {name: {**STRING, "description": name} for name in ("username", "email")}
    return elicit(arguments["message"], fields, fields)


def defaults(_, __):
    return elicit("Review the fields", {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verified", "default": True},
    })


def enums(_, __):
    def titled(*titles):
        return [{"const": f"value{n}", "title": title} for n, title in enumerate(titles, 1)]

    options = ["option1", "option2", "option3"]
    choices = titled("First Choice", "Second Choice", "Third Choice")
    return elicit("Select options", {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                       "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": choices}},
    })


def always(answer):
    return lambda _, __: answer


def schema(*names, **more):
    properties = {name: STRING for name in names}
    return {"type": "object", "properties": properties, "required": list(names), **more}


SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {"name": STRING, "address": {"$ref": "#/$defs/address"}},
    "additionalProperties": False,
}
FAILED = result(text("This tool intentionally returns an error for testing"), isError=True)
EMBEDDED = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
TOOLS = {
    "test_simple_text": (schema(), always(result(text("This is a simple text response for testing.")))),
    "test_image_content": (schema(), always(result(IMAGE))),
    "test_audio_content": (schema(), always(result(AUDIO))),
    "test_embedded_resource": (schema(), always(result(EMBEDDED))),
    "test_multiple_content_types": (schema(), always(result(text("Several types:"), IMAGE, MIXED))),
    "test_tool_with_logging": (schema(), with_logging),
    "test_error_handling": (schema(), always(FAILED)),
    "test_tool_with_progress": (schema(), with_progress),
    "test_sampling": (schema("prompt"), sampling),
    "test_elicitation": (schema("message"), elicitation),
    "test_elicitation_sep1034_defaults": (schema(), defaults),
    "test_elicitation_sep1330_enums": (schema(), enums),
    "test_reconnection": (schema(), always(result(text("ok")))),
    "json_schema_2020_12_tool": (SCHEMA_2020, always(result(text("ok")))),
}


def argument(name):
    return {"name": name, "description": name, "required": True}


PROMPTS = [
    {"name": "test_simple_prompt", "description": "simple"},
    {"name": "test_prompt_with_arguments", "description": "with arguments",
     "arguments": [argument("arg1"), argument("arg2")]},
    {"name": "test_prompt_with_embedded_resource", "description": "with a resource",
     "arguments": [argument("resourceUri")]},
    {"name": "test_prompt_with_image", "description": "with an image"},
]
RESOURCES = [
    {"uri": f"test://{name}", "name": name, "description": name, "mimeType": kind}
    for name, kind in (("static-text", "text/plain"), ("static-binary", "image/png"),
                       ("watched-resource", "text/plain"))
]
TEMPLATE = {"uriTemplate": "test://template/{id}/data", "name": "template", "description": "template",
            "mimeType": "application/json"}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
}


def read(uri):
    content = {"uri": uri, "mimeType": "text/plain"}
    if uri == "test://static-binary":
        return {**content, "mimeType": "image/png", "blob": PNG}
    if uri.startswith("test://template/"):
        name = uri.split("/")[3]
        data = {"id": name, "templateTest": True, "data": f"Data for ID: {name}"}
        return {**content, "mimeType": "application/json", "text": json.dumps(data)}
    return {**content, "text": "This is the content of the static text resource."}


def prompt(name, arguments):
    contents = {
        "test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": lambda: [
            text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")
        ],
        "test_prompt_with_embedded_resource": lambda: [
            resource(arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": lambda: [IMAGE, text("Please analyze the image above.")],
    }[name]()
    return [{"role": "user", "content": content} for content in contents]


METHODS = {
    "initialize": lambda it: {"protocolVersion": it["protocolVersion"], "capabilities": CAPABILITIES,
                              "serverInfo": {"name": "conformance", "version": "1"}},
    "ping": lambda _: {},
    "logging/setLevel": lambda _: {},
    "tools/list": lambda _: {"tools": [{"name": name, "description": name, "inputSchema": tool[0]}
                                       for name, tool in TOOLS.items()]},
    "tools/call": lambda it: TOOLS[it["name"]][1](it.get("arguments", {}), it.get("_meta", {})),
    "resources/list": lambda _: {"resources": RESOURCES},
    "resources/templates/list": lambda _: {"resourceTemplates": [TEMPLATE]},
    "resources/read": lambda it: {"contents": [read(it["uri"])]},
    "resources/subscribe": lambda _: {},
    "resources/unsubscribe": lambda _: {},
    "prompts/list": lambda _: {"prompts": PROMPTS},
    "prompts/get": lambda it: {"messages": prompt(it["name"], it.get("arguments", {}))},
    "completion/complete": lambda _: {"completion": {"values": ["paris", "park", "party"], "total": 150,
                                                     "hasMore": False}},
}


def answer(message):
    try:
        send(id=message["id"], result=METHODS[message["method"]](message.get("params", {})))
    except KeyError as unknown:
        send(id=message["id"], error={"code": -32601, "message": f"there is no {unknown}"})


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        threading.Thread(target=answer, args=(message,), daemon=True).start()
    elif message.get("id") in waiting:
        waiting[message["id"]][1] = message
        waiting[message["id"]][0].set()
