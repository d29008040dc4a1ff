/**
 * The main thread of a sandbox: carries frames between the gateway and the thread in which Python runs. That thread may
 * hang, so it is here that the end of the gateway is noticed, and the end of a cell's time when the gateway itself hangs.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The next bytes from the gateway. When there are none any more, the gateway is gone. */
async function take(size) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const read = await Deno.stdin.read(bytes.subarray(at)).catch(() => null);
    if (read === null) Deno.exit(0);
    at += read;
  }
  return bytes;
}

async function receive() {
  const length = new DataView((await take(4)).buffer).getUint32(0);
  const header = JSON.parse(decoder.decode(await take(length)));
  const bodies = [];
  for (const size of header.sizes) bodies.push(await take(size));
  return { header, bodies };
}

async function write(bytes) {
  for (let at = 0; at < bytes.byteLength; ) at += await Deno.stdout.write(bytes.subarray(at));
}

async function send(header, bodies) {
  const text = encoder.encode(JSON.stringify({ ...header, sizes: bodies.map(({ byteLength }) => byteLength) }));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.byteLength);
  for (const bytes of [length, text, ...bodies]) await write(bytes);
}

/** One frame after the other: code that calls tools at the same time sends several at once. */
let sending = Promise.resolve();

function python(source) {
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })), { type: 'module' });
  worker.onmessage = ({ data }) => {
    // While code waits for a tool its time goes on.
    if (data.header.type !== 'call') clearTimeout(timer);
    sending = sending.then(() => send(data.header, data.bodies)).catch(() => Deno.exit(1));
  };
  return worker;
}

let worker;
let timer;
for (;;) {
  const { header, bodies } = await receive();
  worker ??= python(bodies.shift());
  if (header.type !== 'answer') timer = setTimeout(() => Deno.exit(1), header.withinMs);
  worker.postMessage({ header, bodies }, bodies.map(({ buffer }) => buffer));
}
