import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib';
import { sheetOf } from './build/sheet.ts';

/**
 * Makes the console: `bun web/build.ts <folder>`. The folder gets every file twice, as gzip and as brotli, and
 * `manifest.json`, which says what each file is, which other files it needs at once, and which one a page begins with.
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
/** Scripts as browsers read them. */
const texts = new Map<string, string>();

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
const LATER_IMPORT = /\bimport\(["']\.\/([\w.-]+\.js)["']\)/g;
/** A line of `pages.ts`: where the page is, and the script that it is. */
const PAGE_LINE = /\bpath:"([^"]*)"[^{}]*?\bimport\("\.\/([\w.-]+\.js)"\)/g;
const listed = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);

async function scripts(entry: string, options: Partial<Bun.BuildConfig> = {}): Promise<string> {
  const outputs = await built(join(web, entry), options);
  for (const output of outputs) {
    const [name, text] = [baseName(output.path), await output.text()];
    texts.set(name, text);
    const needs = listed(text, STATIC_IMPORT);
    put(name, new TextEncoder().encode(text), { type: 'text/javascript; charset=utf-8', needs });
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
// It is no module, which would run after the page is read: its names must not become those of the page.
const first = await scripts('first.ts', { splitting: false, format: 'iife' });
const main = await scripts('main.tsx');
const sheet = await styles();
const icon = 'icon.svg';
put(icon, new Uint8Array(await Bun.file(join(web, icon)).arrayBuffer()), { type: 'image/svg+xml', needs: [] });

/** The page with the scripts that it will need: a browser that learns of them one after the other waits for each. */
function page(file: string, opens: 'shell' | 'doors', scripts: readonly string[]) {
  const needed = new Set([main, ...scripts].flatMap((name) => [...closure(name)]));
  needed.delete(main);
  const text = `<!doctype html>
<html lang="en" data-opens="${opens}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Gateway</title>
<link rel="icon" href="${ASSETS}${icon}" type="image/svg+xml">
<script src="${ASSETS}${first}"></script>
<link rel="stylesheet" href="${ASSETS}${sheet}">
<script type="module" src="${ASSETS}${main}"></script>
${[...needed].map((name) => `<link rel="modulepreload" href="${ASSETS}${name}">`).join('\n')}
</head>
<body>
<div id="root"></div>
<noscript>The console needs JavaScript. The API does not: see /docs.</noscript>
</body>
</html>
`;
  put(file, new TextEncoder().encode(text), {
    type: 'text/html; charset=utf-8',
    needs: [first, sheet, main, ...scripts],
  });
  return { file, etag: `"${Bun.hash(text).toString(36)}"` };
}

const opened = listed(texts.get(main)!, LATER_IMPORT);
const named = (name: string) => {
  const found = opened.filter((each) => each.startsWith(`${name}-`));
  if (found.length !== 1) throw new Error(`The first script opens ${found.length} scripts called ${name}, not one.`);
  return found[0]!;
};
const [app, doors] = [named('app'), named('doors')];
/** Both kinds of page need them. */
const shared = opened.filter((name) => name !== app && name !== doors);
const lines = [...closure(app)].flatMap((name) => [...texts.get(name)!.matchAll(PAGE_LINE)]);
const written = listed(await Bun.file(join(web, 'pages.ts')).text(), /\bpath: '([^']*)'/g);
if (lines.map(([, path]) => path).join() !== written.join())
  throw new Error(`Of the pages ${written}, only ${lines.map(([, path]) => path)} are found in what was built.`);
const pages = lines.map(([, path, script]) => ({
  path: path!,
  ...page(`at${path!.replace(/\W+/g, '-')}.html`, 'shell', [...shared, app, script!]),
}));
const manifest = { visitors: page('index.html', 'doors', [...shared, doors]), pages, files };
writeFileSync(join(into, 'manifest.json_gz.z'), gzipSync(JSON.stringify(manifest)));
