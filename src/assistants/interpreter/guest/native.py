"""The Python of a jail: takes frames from the gateway and runs cells. Whatever is reachable from here is reachable for the
code of users."""

import ast
import asyncio
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import itertools
import json
import os
import platform
import queue
import select
import sys
import threading
import tokenize
import zlib

HOME = '/mnt/data'
TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class Log:
    """What was printed: its beginning and its end, however much it was."""

    def __init__(self, source):
        self.source = source
        self.most = 0
        self.lock = threading.Lock()
        self.clear()

    def clear(self):
        self.head, self.tail, self.left_out = bytearray(), bytearray(), 0

    def add(self, data):
        room = max(0, self.most - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > 2 * self.most:
            self.forget()

    def forget(self):
        too_many = max(0, len(self.tail) - self.most)
        del self.tail[:too_many]
        self.left_out += too_many

    def drain(self):
        """Takes what lies in the pipe."""
        with self.lock:
            while True:
                try:
                    data = os.read(self.source, 65536)
                except BlockingIOError:
                    return
                if not data:
                    return
                self.add(data)

    def follow(self):
        """Code that prints more than the pipe holds waits for this."""
        poll = select.poll()
        poll.register(self.source, select.POLLIN)
        while True:
            if any(event & ~select.POLLIN for _, event in poll.poll()):
                return
            self.drain()

    def take(self):
        self.drain()
        with self.lock:
            self.forget()
            gap = f'\n[… {self.left_out} bytes of output left out …]\n' if self.left_out > 0 else ''
            text = self.head.decode(errors='replace') + gap + self.tail.decode(errors='replace')
            self.clear()
            return text.encode()


class Gateway:
    """The other end of standard input and output. Code finds neither under the usual numbers."""

    def __init__(self):
        self.input, self.output = os.dup(0), os.dup(1)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        nothing = os.open('/dev/null', os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        os.close(nothing)
        os.close(writing)
        self.log = Log(reading)
        self.lock = threading.Lock()
        self.waiting = {}
        self.numbers = itertools.count(1)
        self.cells = queue.SimpleQueue()
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

    def take(self, size):
        data = bytearray()
        while len(data) < size:
            piece = os.read(self.input, min(size - len(data), 1 << 20))
            if not piece:
                # The gateway is gone.
                os._exit(0)
            data += piece
        return bytes(data)

    def receive(self):
        header = json.loads(self.take(int.from_bytes(self.take(4), 'big')))
        return header, [self.take(size) for size in header['sizes']]

    def listen(self):
        """In a thread of its own: the gateway may end, or answer a call, while code runs."""
        while True:
            header, bodies = self.receive()
            if header['type'] != 'answer':
                self.cells.put((header, bodies))
                continue
            future = self.waiting.pop(header['id'], None)
            if future is not None:
                self.loop.call_soon_threadsafe(self.answered, future, bodies[0].decode())

    def answered(self, future, text):
        if not future.done():
            future.set_result(text)

    def send(self, header, bodies=()):
        text = json.dumps({**header, 'sizes': [len(body) for body in bodies]}).encode()
        with self.lock:
            for data in (len(text).to_bytes(4, 'big'), text, *bodies):
                view = memoryview(data)
                while view:
                    view = view[os.write(self.output, view) :]

    def call(self, tool, given):
        """Asks the gateway to call a tool. Both sides are texts of JSON; the gateway believes neither the name nor the number."""
        number = next(self.numbers)
        future = self.waiting[number] = self.loop.create_future()
        self.send({'type': 'call', 'id': number}, [tool.encode(), given.encode()])
        return future


def ends_quietly(code):
    """Whether the last line ends with a semicolon: its value is not shown then."""
    skipped = (tokenize.ENDMARKER, tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(code).readline) if token.type not in skipped]
    return bool(tokens) and tokens[-1].string == ';'


async def evaluate(code, namespace, filename):
    tree = compile(code, filename, 'exec', ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) and not ends_quietly(code) else None
    await execute(tree, 'exec', namespace, filename)
    return None if last is None else await execute(ast.Expression(last.value), 'eval', namespace, filename)


async def execute(tree, mode, namespace, filename):
    compiled = compile(tree, filename, mode, TOP_LEVEL_AWAIT, dont_inherit=True)
    value = eval(compiled, namespace)
    return await value if compiled.co_flags & inspect.CO_COROUTINE else value


def defined_by(source, name):
    """The value of the last line of one of our own sources."""
    tree = ast.parse(source, name)
    last = ast.Expression(tree.body.pop().value)
    # The name of what code is in: tracebacks say no other one before those of exceptions.
    namespace = {'__name__': '__main__'}
    exec(compile(tree, name, 'exec'), namespace)
    return eval(compile(last, name, 'eval'), namespace)


def is_there(package):
    return package in sys.modules or importlib.util.find_spec(package) is not None


class Numbers:
    """Cells may be run again elsewhere to reach the same state, so numpy's numbers begin with the same one."""

    def __init__(self, seed):
        self.seed = zlib.crc32(seed.encode())
        self.is_done = False

    def prepare(self, code):
        if self.is_done or not any(name in code for name in ('numpy', 'pandas', 'scipy', 'sklearn')) or not is_there('numpy'):
            return
        self.is_done = True
        importlib.import_module('numpy').random.seed(self.seed)


def serve(gateway):
    header, (script,) = gateway.cells.get()
    guest = defined_by(script.decode(), '<guest>')
    gateway.log.most = header['limits']['logBytes'] // 2
    guest.begin(header['seed'], header['limits'], evaluate)
    numbers = Numbers(header['seed'])
    # What was said on the way is nobody's output.
    gateway.log.take()
    gateway.send({'type': 'ready'})
    while True:
        run(gateway, guest, numbers, *gateway.cells.get())


def run(gateway, guest, numbers, header, bodies):
    timer = threading.Timer(header['withinMs'] / 1000, os._exit, (1,))
    timer.daemon = True
    timer.start()
    code, *files = bodies
    for name, content in zip(header['files'], files):
        path = f'{HOME}/{name}'
        if os.path.lexists(path):
            os.remove(path)
        with open(path, 'xb') as file:
            file.write(content)
    if header.get('tools'):
        guest.offer(defined_by(files[-1].decode(), '<tools>')(header['tools'], gateway.call))
    text = code.decode()
    numbers.prepare(text)
    images, made, is_failed = gateway.loop.run_until_complete(guest.run(text))
    logs = gateway.log.take()
    timer.cancel()
    if header['isReplay']:
        return gateway.send({'type': 'result', 'images': 0, 'paths': []}, [b''])
    about = {'type': 'result', 'images': len(images), 'paths': [path for path, _ in made], 'isFailed': is_failed}
    gateway.send(about, [logs, *images, *(content for _, content in made)])


def describe():
    """What this Python has, for the gateway and for models."""
    packages = {found.metadata['Name']: found.version for found in importlib.metadata.distributions()}
    return json.dumps({'version': platform.python_version(), 'packages': packages})


def fonts():
    """The list of fonts that matplotlib makes when it is loaded first, for those that are started later."""
    import matplotlib.font_manager  # noqa: F401

    folder = os.environ['MPLCONFIGDIR']
    name = next((name for name in sorted(os.listdir(folder)) if name.startswith('fontlist')), None)
    if name is None:
        return json.dumps({'name': None, 'content': ''})
    with open(os.path.join(folder, name)) as file:
        return json.dumps({'name': name, 'content': file.read()})


def main(how, warm):
    if how != 'serve':
        return print(describe() if how == 'describe' else fonts())
    gateway = Gateway()
    for target in (gateway.log.follow, gateway.listen):
        threading.Thread(target=target, daemon=True).start()
    # One that nobody waits for loads what most code needs.
    for name in warm:
        try:
            if is_there(name.split('.')[0]):
                importlib.import_module(name)
        except Exception:
            pass
    if warm:
        gateway.send({'type': 'warm'})
    serve(gateway)


main(sys.argv[1], sys.argv[2:])
