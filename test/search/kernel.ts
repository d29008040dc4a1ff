import { writeFileSync } from 'node:fs';
import wabt from 'wabt';

/** Builds the inner loop of vector search from its text; `npm run kernel` keeps what comes out. */
const folder = new URL('../../src/assistants/vector-stores/search/', import.meta.url);
const text = new URL('dot-products.wat', folder);

export async function builtKernel(): Promise<Uint8Array> {
  const { parseWat } = await wabt();
  const parsed = parseWat('dot-products.wat', await Bun.file(text).text(), { simd: true });
  try {
    parsed.validate();
    return parsed.toBinary({}).buffer;
  } finally {
    parsed.destroy();
  }
}

if (import.meta.main) {
  const bytes = (await builtKernel()).toBase64();
  const source = `/** Built from dot-products.wat by \`npm run kernel\`; a test compares the two. */\nexport const KERNEL =\n  '${bytes}';\n`;
  writeFileSync(new URL('dot-products-kernel.ts', folder), source);
}
