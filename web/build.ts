import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { sheetOf } from './build/sheet.ts';

/**
 * Makes the console: `bun web/build.ts <folder>`. The folder gets every file twice, as gzip and as brotli, and
 * `manifest.json`, which says what each file is and which other files it needs at once.
 */
const web = import.meta.dir;
const into = process.argv[2];
if (!into) throw new Error('Say where the console is to be put: bun web/build.ts <folder>');

const ASSETS = '/console/assets/';
const NAMING = '[name]-[hash].[ext]';

interface Made {
  readonly type: string;
  /** Files that this one cannot do without; pages that are loaded when they are opened are not among them. */
  readonly needs: readonly string[];
}
const files: Record<string, Made> = {};

function put(name: string, bytes: Uint8Array<ArrayBuffer>, made: Made) {
  files[name] = made;
  writeFileSync(join(into!, `${name}_gz.z`), gzipSync(bytes, { level: 9 }));
  const params = { [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  writeFileSync(join(into!, `${name}_br.z`), brotliCompressSync(bytes, { params }));
}

async function built(entry: string, options: Partial<Bun.BuildConfig> = {}) {
  const result = await Bun.build({
    entrypoints: [entry],
    target: 'browser',
    splitting: true,
    minify: true,
    naming: { entry: NAMING, chunk: NAMING, asset: NAMING },
    define: { 'process.env.NODE_ENV': '"production"' },
    jsx: { runtime: 'automatic', development: false },
    ...options,
  });
  return result.outputs;
}

const baseName = (path: string) => path.replace(/^.*\//, '');
/** `import"./a.js"` and `from"./a.js"`, but not `import("./a.js")`. */
const STATIC_IMPORT = /(?:\bfrom|\bimport)\s*["']\.\/([\w.-]+\.js)["']/g;

async function scripts(entry: string): Promise<string> {
  const outputs = await built(join(web, entry));
  for (const output of outputs) {
    const text = await output.text();
    const needs = [...text.matchAll(STATIC_IMPORT)].map(([, name]) => name!);
    put(baseName(output.path), new TextEncoder().encode(text), { type: 'text/javascript; charset=utf-8', needs });
  }
  return baseName(outputs.find(({ kind }) => kind === 'entry-point')!.path);
}

async function styles(): Promise<string> {
  const sheet = join(into!, 'console.css');
  writeFileSync(sheet, sheetOf(web));
  const outputs = await built(sheet, { splitting: false });
  rmSync(sheet);
  const name = baseName(outputs[0]!.path);
  put(name, new Uint8Array(await outputs[0]!.arrayBuffer()), { type: 'text/css; charset=utf-8', needs: [] });
  return name;
}

/** Everything that a file loads at once, itself first. */
function closure(name: string, seen: Set<string> = new Set()): Set<string> {
  if (!seen.has(name)) {
    seen.add(name);
    for (const needed of files[name]!.needs) closure(needed, seen);
  }
  return seen;
}

mkdirSync(into, { recursive: true });
const theme = await scripts('theme.ts');
const main = await scripts('main.tsx');
const sheet = await styles();
const icon = 'icon.svg';
put(icon, new Uint8Array(await Bun.file(join(web, icon)).arrayBuffer()), { type: 'image/svg+xml', needs: [] });

const preloads = [...closure(main)].slice(1);
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gateway</title>
<link rel="icon" href="${ASSETS}${icon}" type="image/svg+xml">
<script src="${ASSETS}${theme}"></script>
<link rel="stylesheet" href="${ASSETS}${sheet}">
${preloads.map((name) => `<link rel="modulepreload" href="${ASSETS}${name}">`).join('\n')}
<script type="module" src="${ASSETS}${main}"></script>
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript. The API does not: see /docs.</noscript>
</body>
</html>
`;
put('index.html', new TextEncoder().encode(page), {
  type: 'text/html; charset=utf-8',
  needs: [theme, sheet, main],
});
const manifest = { etag: `"${Bun.hash(page).toString(36)}"`, files };
writeFileSync(join(into, 'manifest.json_gz.z'), gzipSync(JSON.stringify(manifest)));
