/** The thread in which Python runs. Whatever is reachable from here is reachable for the code of users. */

const HOME = '/mnt/data';
const decoder = new TextDecoder();

/** What was printed: its beginning and its end, however much it was. */
class Log {
  #most;
  #head = [];
  #headBytes = 0;
  #tail = [];
  #tailBytes = 0;
  #leftOut = 0;

  constructor(most) {
    this.#most = most / 2;
  }

  add(bytes) {
    let rest = bytes.slice();
    if (this.#headBytes < this.#most) {
      const part = rest.subarray(0, this.#most - this.#headBytes);
      this.#head.push(part);
      this.#headBytes += part.byteLength;
      rest = rest.subarray(part.byteLength);
    }
    if (rest.byteLength === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.byteLength;
    if (this.#tailBytes > 2 * this.#most) this.#forget();
  }

  /** What is added byte by byte is put together before it is cut. */
  #forget() {
    const all = joined(this.#tail);
    const kept = all.slice(Math.max(0, all.byteLength - this.#most));
    this.#leftOut += all.byteLength - kept.byteLength;
    this.#tail = [kept];
    this.#tailBytes = kept.byteLength;
  }

  take() {
    this.#forget();
    const gap = this.#leftOut > 0 ? `\n[… ${this.#leftOut} bytes of output left out …]\n` : '';
    const text = decoder.decode(joined(this.#head)) + gap + decoder.decode(joined(this.#tail));
    this.#head = [];
    this.#tail = [];
    this.#headBytes = this.#tailBytes = this.#leftOut = 0;
    return text;
  }
}

function joined(parts) {
  const all = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}

/**
 * Python notices by itself when there is no more memory. The engine below it would not survive that, so Python comes to
 * its end before the process does.
 */
function limitMemory(most) {
  const { grow } = WebAssembly.Memory.prototype;
  WebAssembly.Memory.prototype.grow = function (pages) {
    if (this.buffer.byteLength + pages * 65_536 > most) throw new RangeError('no more memory');
    return grow.call(this, pages);
  };
}

const answer = (header, bodies = []) => self.postMessage({ header, bodies }, bodies.map(({ buffer }) => buffer));

async function load({ pyodide, lock, wheels }, snapshot) {
  const { loadPyodide } = await import(new URL('pyodide.mjs', pyodide).href);
  return loadPyodide({
    indexURL: decodeURIComponent(new URL(pyodide).pathname),
    lockFileContents: lock,
    packageBaseUrl: decodeURIComponent(new URL(wheels ?? pyodide).pathname),
    env: { HOME, LANG: 'en_US.UTF-8', MPLBACKEND: 'agg', PYTHONHASHSEED: '0' },
    ...snapshot,
  });
}

/** A snapshot keeps what lies in the memory of Python, which is text here, and no object of JavaScript. */
const keep = (cells) => `import sys, types
sys.modules['__cells__'] = types.ModuleType('__cells__')
exec(compile(${JSON.stringify(cells)}, 'cells.py', 'exec'), sys.modules['__cells__'].__dict__)`;

/**
 * The state of Python after it has started takes a tenth of the time to load that it takes to reach; what runs the cells is
 * in it, because to translate that takes as long again as to load it.
 */
async function makeSnapshot(header, [cells]) {
  const python = await load(header, { _makeSnapshot: true });
  python.runPython(keep(decoder.decode(cells)));
  answer({ type: 'snapshot' }, [python.makeMemorySnapshot()]);
}

async function start({ seed, limits, snapshot, ...header }) {
  const python = await load(header, { _loadSnapshot: await Deno.readFile(snapshot) });
  const log = new Log(limits.logBytes);
  const write = (bytes) => {
    log.add(bytes);
    return bytes.byteLength;
  };
  python.setStdin({ error: true });
  python.setStdout({ write });
  python.setStderr({ write });
  // What goes to the console would go between the frames.
  const encoder = new TextEncoder();
  for (const name of ['log', 'info', 'warn', 'error', 'debug'])
    console[name] = (...said) => log.add(encoder.encode(`${said.map(String).join(' ')}\n`));
  python.FS.mkdirTree(HOME);
  limitMemory(python._module.HEAPU8.byteLength + limits.memoryBytes);
  const guest = python.runPython('from __cells__ import Guest\nGuest()', { globals: python.toPy({}) });
  const evaluate = python.runPython('from pyodide.code import eval_code_async\neval_code_async', { globals: python.toPy({}) });
  guest.begin(seed, python.toPy(limits), evaluate);
  self.onmessage = ({ data }) => (data.header.type === 'answer' ? answered(data) : run(python, guest, log, data));
  answer({ type: 'ready' });
}

/** Calls of tools that the gateway has not answered yet, by number. */
const waiting = new Map();
let calls = 0;

/** Asks the gateway to call a tool. Both sides are texts of JSON; the gateway believes neither the name nor the number. */
function call(tool, given) {
  const id = ++calls;
  const { promise, resolve } = Promise.withResolvers();
  waiting.set(id, resolve);
  const encoder = new TextEncoder();
  answer({ type: 'call', id }, [encoder.encode(tool), encoder.encode(given)]);
  return promise;
}

function answered({ header: { id }, bodies: [text] }) {
  waiting.get(id)?.(decoder.decode(text));
  waiting.delete(id);
}

async function run(python, guest, log, { header, bodies: [code, ...files] }) {
  for (const [index, name] of header.files.entries())
    python.FS.writeFile(`${HOME}/${name}`, files[index], { canOwn: true });
  if (header.tools) {
    const make = python.runPython(decoder.decode(files.at(-1)), { globals: python.toPy({}), filename: '<tools>' });
    guest.offer(make(python.toPy(header.tools), call));
  }
  const text = decoder.decode(code);
  const complain = (reason) => log.add(new TextEncoder().encode(`[sandbox] ${reason}\n`));
  // Without a package that cannot be loaded the code runs all the same, and says what it misses.
  const quiet = { messageCallback: () => {}, errorCallback: complain, checkIntegrity: true };
  await python.loadPackagesFromImports(text, quiet).catch((error) => complain(error.message));
  const result = await guest.run(text);
  const [images, made, isFailed] = result.toJs({ create_proxies: false });
  result.destroy();
  const logs = new TextEncoder().encode(log.take());
  if (header.isReplay) return answer({ type: 'result', images: 0, paths: [] }, [new Uint8Array(0)]);
  const bytesOf = ({ 1: bytes }) => bytes.slice();
  answer(
    { type: 'result', images: images.length, paths: made.map(([path]) => path), isFailed },
    [logs, ...images.map((bytes) => bytes.slice()), ...made.map(bytesOf)],
  );
}

self.onmessage = ({ data: { header, bodies } }) => {
  const work = header.type === 'make-snapshot' ? makeSnapshot(header, bodies) : start(header);
  work.catch((error) => answer({ type: 'failed', reason: String(error?.message ?? error).slice(0, 2_000) }));
};
