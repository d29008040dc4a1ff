import { createInterface } from 'node:readline';

/** A program that does what none should; its argument says what. */
const [how = '', mark = ''] = process.argv.slice(2);
const say = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const forever = () => setInterval(() => {}, 1_000);

if (how === 'dies') {
  process.stderr.write('the secret of the owner is wrong\n');
  process.exit(7);
}
process.on('SIGTERM', () => {});
if (how === 'forks') {
  // A grandchild in a session of its own that ignores every polite word, and keeps the output open.
  const script = 'trap "" TERM HUP INT; setsid sh -c "trap \\"\\" TERM HUP; while :; do sleep 1; done" "$0" & wait';
  Bun.spawn(['/bin/sh', '-c', script, mark], { stdio: ['ignore', 'inherit', 'inherit'] });
  forever();
}
if (how === 'bombs') {
  // Each makes two more, for ever.
  Bun.spawn(
    [
      '/bin/sh',
      '-c',
      'trap "" TERM; while :; do sh -c "$1" "$0" "$1" & sh -c "$1" "$0" "$1" & wait; done',
      mark,
      'sleep 0.2; sh -c "$1" "$0" "$1" & sh -c "$1" "$0" "$1" & wait',
    ],
    {
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  );
  forever();
}
if (how === 'mute') forever();
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (how === 'mute' || id === undefined) return;
  if (method === 'initialize')
    return say({
      id,
      result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: how, version: '1' } },
    });
  if (method === 'tools/list') return say({ id, result: { tools: [{ name: 'go', inputSchema: { type: 'object' } }] } });
  if (how === 'floods') {
    const much = 'x'.repeat(1 << 20);
    const more = () => {
      while (process.stdout.write(much));
      process.stdout.once('drain', more);
    };
    return more();
  }
  if (how === 'chatters') {
    const noise = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { much: 'x'.repeat(60_000) } })}\n`;
    const more = () => {
      while (process.stdout.write(noise));
      process.stdout.once('drain', more);
    };
    return more();
  }
  if (how === 'silent') return;
  say({ id, result: { content: [{ type: 'text', text: String(process.pid) }] } });
});
