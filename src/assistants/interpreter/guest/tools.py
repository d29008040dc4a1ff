"""The functions by which code calls tools outside of its sandbox."""

import json


class ToolError(Exception):
    """A tool failed, or was refused."""

    def __init__(self, tool, message, code=None):
        super().__init__(f'{tool}: {message}')
        self.tool = tool
        self.message = message
        self.code = code


def text_of(blocks):
    return '\n'.join(block['text'] for block in blocks if isinstance(block.get('text'), str))


def value_of(tool, answer):
    """What a tool gave: its structured content, else the JSON in its text, else its text, else its blocks."""
    if 'error' in answer:
        error = answer['error']
        raise ToolError(tool, error.get('message', 'failed'), error.get('code'))
    result = answer['result']
    blocks = [block for block in result.get('content') or [] if isinstance(block, dict)]
    if result.get('resultType') == 'input_required':
        raise ToolError(tool, 'the tool asks the user for something, which a program cannot pass on')
    if result.get('isError'):
        raise ToolError(tool, text_of(blocks) or 'the tool failed')
    if result.get('structuredContent') is not None:
        return result['structuredContent']
    if not blocks or any(block.get('type') != 'text' for block in blocks):
        return blocks
    text = text_of(blocks)
    if text.lstrip()[:1] in ('{', '['):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text


DEEPEST = 60


def check_depth(name, given):
    """What is nested without end, the encoder below would not survive."""
    level = [given]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list, tuple))
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list, tuple))
        ]
        if not level:
            return
    raise ToolError(name, f'the arguments are nested more than {DEEPEST} levels deep')


def functions_for(tools, send):
    about = tools.to_py() if hasattr(tools, 'to_py') else tools
    most_calls, most_bytes = about['mostCalls'], about['mostBytes']
    made = 0

    async def call_tool(name, arguments=None, /):
        """Calls a tool by its name, with a dict of arguments."""
        nonlocal made
        given = {} if arguments is None else arguments
        if not isinstance(name, str):
            raise TypeError('the name of a tool is a str')
        if not isinstance(given, dict):
            raise TypeError(f'{name}: arguments are a dict, or given by name')
        check_depth(name, given)
        text = json.dumps(given, allow_nan=False)
        if len(text) > most_bytes:
            raise ToolError(name, f'the arguments have {len(text)} bytes; at most {most_bytes} are sent')
        if made >= most_calls:
            raise ToolError(name, f'not called: one program makes at most {most_calls} calls')
        made += 1
        return value_of(name, json.loads(await send(name, text)))

    def function(python_name, name):
        async def call(*positional, **arguments):
            if len(positional) > 1 or (positional and (arguments or not isinstance(positional[0], dict))):
                raise TypeError(f'{python_name}() takes arguments by name, or one dict of all of them')
            return await call_tool(name, positional[0] if positional else arguments)

        call.__name__ = call.__qualname__ = python_name
        return call

    functions = {python_name: function(python_name, name) for python_name, name in about['functions'].items()}
    return {**functions, 'call_tool': call_tool, 'ToolError': ToolError}


functions_for
