import { LIMITS } from '../../src/assistants/interpreter/limits.ts';

/** A frame as the sandbox sends them, written past it. */
export const spoofed = (header: object, ...bodies: string[]) => `import js
js.eval(r'''
  const text = new TextEncoder().encode(${JSON.stringify(JSON.stringify({ ...header, sizes: bodies.map((body) => body.length) }))});
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.byteLength);
  for (const bytes of [length, text, ...${JSON.stringify(bodies)}.map((body) => new TextEncoder().encode(body))])
    Deno.stdout.writeSync(bytes);
''')`;

/** Frames that are none, by what is wrong with them. */
export const SPOOFS: Readonly<Record<string, string>> = {
  'too many files': spoofed({ type: 'result', images: 0, paths: Array(LIMITS.files + 1).fill('x') }),
  'sizes that do not add up': spoofed({ type: 'result', images: 3, paths: [] }, 'logs'),
  'an unknown type': spoofed({ type: 'ready' }),
  'a negative number': spoofed({ type: 'result', images: -1, paths: [] }, 'logs'),
  prose: 'import js\njs.eval("Deno.stdout.writeSync(new TextEncoder().encode(\'Hello, gateway!\'))")',
  'an endless header': 'import js\njs.eval("Deno.stdout.writeSync(new Uint8Array([255, 255, 255, 255]))")',
  'a huge file': `import js\njs.eval(r'''${spoofedSize(LIMITS.fileBytes + 1)}''')`,
};

/** The gateway judges these for every kind of sandbox alike: jail.test.ts sends them, and test/long/ from Deno, too. */
export const FRAMES_OF_JAILS: readonly string[] = ['too many files', 'sizes that do not add up', 'an unknown type'];

/** A header that announces so many bytes. */
function spoofedSize(size: number): string {
  const header = JSON.stringify({ type: 'result', images: 0, paths: ['x'], sizes: [0, size] });
  return `const text = new TextEncoder().encode(${JSON.stringify(header)});
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, text.byteLength);
    Deno.stdout.writeSync(length);
    Deno.stdout.writeSync(text);`;
}
