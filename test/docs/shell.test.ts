import { afterAll, beforeAll, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { exportJWK, generateKeyPair } from 'jose';
import { createSimulator } from '../../simulator/simulator.ts';
import { exportedMessage, writeExportFolder } from '../assistants/export-folder.ts';
import { laySnapshot } from '../assistants/sandbox.ts';
import { startSmallServer } from '../mcp/small-server.ts';
import { createDatabase } from '../postgres.ts';
import { commands, newDataDir, removeDataDir, root, startProcess } from '../process.ts';
import { type ShellBlock, shellBlocksOf } from './shell-blocks.ts';

/**
 * A reader pastes every block of README and docs into a shell, page by page, beside a gateway that has just been started.
 * The README defines the variables that the others use, and docs/keys.md makes the virtual key that they name.
 */

const FIRST = ['README.md', 'docs/keys.md'];
/** Their commands open the database themselves, so the gateway is stopped first. */
const STOPPED = ['docs/apply.md', 'docs/moving-in.md'];
/** What this machine need not have. The lines that use it are read, and not carried out. */
const ABSENT = /^(?:docker|psql|helm|kubectl) /;
const FROM_README = /^## Run it$.*?^## /ms;

const pages = [...new Glob('docs/*.md').scanSync(root)].sort().filter((page) => !FIRST.includes(page));
const ordered = [...FIRST, ...pages.filter((page) => !STOPPED.includes(page)), ...STOPPED];
const blocksOf = (page: string): ShellBlock[] => shellBlocksOf(page, readFileSync(join(root, page), 'utf8'));
/** The variables and functions, without the calls that try them. */
const environment = shellBlocksOf('README.md', FROM_README.exec(readFileSync(join(root, 'README.md'), 'utf8'))![0])
  .filter(({ text }) => text.startsWith('export GATEWAY='))
  .map(({ text }) => text)
  .join('\n');

const simulator = createSimulator();
const { publicKey } = await generateKeyPair('RS256', { extractable: true });
const keySet = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }] };
/** The provider of the virtual key, and the issuer of the tokens that docs/users.md lets in. */
const provider = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => (new URL(request.url).pathname === '/keys' ? Response.json(keySet) : simulator.simulate(request)),
});
const weather = startSmallServer({ era: 'newer', tools: ['forecast', 'delete_station'] });
const folder = newDataDir();
const elsewhere = join(folder, 'elsewhere');
const dataDir = join(folder, '.gateway');
let gateway: Awaited<ReturnType<typeof startProcess>> | null = null;
let database: string;

beforeAll(async () => {
  mkdirSync(join(elsewhere, 'else'), { recursive: true });
  mkdirSync(join(elsewhere, 'safe'));
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'bin/gateway'), WRAPPER);
  chmodSync(join(folder, 'bin/gateway'), 0o755);
  const thread = { id: 'thread_one', object: 'thread', created_at: 1_700_000_000, metadata: {} };
  writeExportFolder(join(folder, 'export'), { threads: [thread], messages: [exportedMessage(thread.id, 'Hello')] });
  database = await createDatabase();
  await laySnapshot(dataDir);
  gateway = await startProcess({
    cwd: folder,
    environment: { GATEWAY_DATA_DIR: dataDir, TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await provider.stop(true);
  weather.stop();
  removeDataDir(folder);
});

const program = commands.program.map((word) => `"${word}"`).join(' ');
/** Commands run as they are. A server is started with a database of its own, asked whether it is ready, and stopped. */
const WRAPPER = `#!/bin/sh
case "\${1:-serve}" in serve) ;; *) exec ${program} "$@" ;; esac
said=$(mktemp)
PORT=0 GATEWAY_DATA_DIR=$(mktemp -d) ${program} > "$said" 2>&1 &
for try in $(seq 300); do grep -q ' on http' "$said" && break; sleep 0.1; done
kill $!
wait $!
cat "$said"
grep -q ' on http' "$said"
`;

/** A call that is refused is a fault of the page. What npm would do here, the suite has done or does. */
const PRELUDE = `set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
npm() { case "$1" in start) bin/gateway ;; install | test) ;; *) return 1 ;; esac; }
`;

const url = (): string => gateway?.url ?? 'http://127.0.0.1:9';
/** What stands for something that only the reader has. */
const asHere = (text: string): string =>
  text
    .replaceAll('http://127.0.0.1:8787', url())
    .replaceAll('postgres://gateway:password@db.internal:5432/gateway', database)
    .replaceAll('/somewhere', elsewhere)
    .replaceAll('https://weather.example.com/mcp', weather.url)
    .replaceAll('https://hooks.slack.com/services/T000/B000/XXXX', `${provider.url}hook`)
    .replaceAll('https://login.example.com/keys', `${provider.url}keys`)
    .replaceAll(
      '"provider":"openai","key":"sk-your-key"',
      `"provider":"openai","key":"sk-your-key","custom_host":"${provider.url}v1"`,
    )
    .replace(/^.*$/gm, (line) => (ABSENT.test(line) ? `# ${line}` : line));

const END = 'END_OF_THIS_FILE';
const scriptOf = ({ line, text, file }: ShellBlock): string =>
  file ? `cat > '${file}' <<'${END}'\n${text}${END}` : `echo "--- line ${line}"\n${asHere(text)}`;

async function runPage(page: string) {
  const script = blocksOf(page).map(scriptOf);
  const known = page === 'README.md' ? '' : asHere(environment);
  const child = Bun.spawn(['bash', '-c', [PRELUDE, gateway ? known : '', ...script].join('\n')], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, GATEWAY_DATA_DIR: dataDir, PORT: new URL(url()).port },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { exitCode, said: `${output.slice(-2_000)}\n${errors.slice(-2_000)}` };
}

for (const page of ordered) {
  if (blocksOf(page).length === 0) continue;
  test(`every shell block of ${page} works as it stands`, async () => {
    if (STOPPED.includes(page) && gateway) {
      await gateway.stop();
      gateway = null;
    }
    const { exitCode, said } = await runPage(page);
    if (exitCode !== 0) throw new Error(`${page} ended with ${exitCode}:\n${said}`);
  }, 120_000);
}

test('a block that is not marked as shell, or in another way, is seen', () => {
  expect(() => shellBlocksOf('page', '```\ncurl x\n```\n')).toThrow('page:2 is shell');
  expect(() => shellBlocksOf('page', 'a\n\n```bash\nls\n```\n')).toThrow('page:4: mark shell with sh');
  expect(shellBlocksOf('page', '```sh\nls\n```\n```json\n{}\n```\n')).toEqual([
    { page: 'page', line: 2, text: 'ls\n', file: null },
  ]);
});
