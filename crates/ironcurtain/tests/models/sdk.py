"""Asks a model once with a provider's own SDK, and prints the answer and what it took.

Usage: sdk.py anthropic|responses|chat|gemini whole|stream [2]; with 2 over HTTP/2.
"""

import os
import sys

FORMAT, MODE = sys.argv[1], sys.argv[2]
IS_STREAM = MODE == "stream"
IS_HTTP2 = "2" in sys.argv[3:]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def options(module):
    """Returns what makes an SDK speak HTTP/2; SDKs differ in the library that they speak HTTP with."""
    if not IS_HTTP2:
        return {}
    library = __import__(module)
    return {"http_client": library.Client(http2=True)}


def anthropic():
    import anthropic

    client = anthropic.Anthropic(max_retries=0, **options("httpx2"))
    asked = dict(
        model="claude-sonnet-4-6",
        max_tokens=64,
        system="Be brief.",
        messages=[{"role": "user", "content": "Say hello."}],
        tools=[{"name": "echo", "description": "Echoes.", "input_schema": SCHEMA}],
    )
    if IS_STREAM:
        with client.messages.stream(**asked) as stream:
            text = "".join(stream.text_stream)
            usage = stream.get_final_message().usage
    else:
        message = client.messages.create(**asked)
        text, usage = message.content[0].text, message.usage
    return text, usage.input_tokens, usage.output_tokens


def responses():
    import openai

    client = openai.OpenAI(max_retries=0, **options("httpx"))
    asked = dict(
        model="gpt-5",
        instructions="Be brief.",
        input="Say hello.",
        tools=[{"type": "function", "name": "echo", "parameters": SCHEMA, "strict": False}],
    )
    if IS_STREAM:
        text, usage = "", None
        for event in client.responses.create(stream=True, **asked):
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type == "response.completed":
                usage = event.response.usage
    else:
        response = client.responses.create(**asked)
        text, usage = response.output_text, response.usage
    return text, usage.input_tokens, usage.output_tokens


def chat():
    import openai

    client = openai.OpenAI(max_retries=0, **options("httpx"))
    asked = dict(
        model="gpt-5",
        messages=[{"role": "user", "content": "Say hello."}],
        tools=[{"type": "function", "function": {"name": "echo", "parameters": SCHEMA}}],
    )
    if IS_STREAM:
        text, usage = "", None
        for chunk in client.chat.completions.create(
            stream=True, stream_options={"include_usage": True}, **asked
        ):
            text += "".join(it.delta.content or "" for it in chunk.choices)
            usage = chunk.usage or usage
    else:
        completion = client.chat.completions.create(**asked)
        text, usage = completion.choices[0].message.content, completion.usage
    return text, usage.prompt_tokens, usage.completion_tokens


def gemini():
    from google import genai
    from google.genai import types

    settings = types.HttpOptions(client_args={"http2": True}) if IS_HTTP2 else None
    client = genai.Client(api_key=os.environ["GEMINI_API_KEY"], http_options=settings)
    declared = types.FunctionDeclaration(name="echo", parameters_json_schema=SCHEMA)
    asked = dict(
        model="gemini-2.5-pro",
        contents="Say hello.",
        config=types.GenerateContentConfig(
            system_instruction="Be brief.",
            temperature=0.5,
            tools=[types.Tool(function_declarations=[declared])],
        ),
    )
    if IS_STREAM:
        text, usage = "", None
        for chunk in client.models.generate_content_stream(**asked):
            text, usage = text + (chunk.text or ""), chunk.usage_metadata or usage
    else:
        answer = client.models.generate_content(**asked)
        text, usage = answer.text, answer.usage_metadata
    return text, usage.prompt_token_count, usage.candidates_token_count


print("said:", *{"anthropic": anthropic, "responses": responses, "chat": chat, "gemini": gemini}[FORMAT](), sep="|")
