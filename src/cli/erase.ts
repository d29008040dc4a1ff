import type { EndingReport } from '../endings/ending.ts';
import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { localRemote } from './remote.ts';

const USAGE = `gateway erase --user <id or email> [--deleted] [--yes] [--url <address>]

Forgets a person: their user, keys and sessions at once; then their threads, files, batches, feedback and log entries.
A running gateway does it; the command shows how far it is, and prints a report at the end.

  --user <id or email>   who
  --deleted              the user was deleted before; what they left is found by the id or address that is given
  --yes                  do not ask
  --url <address>        where the gateway is; http://127.0.0.1 with its PORT unless given
`;

const options = {
  user: { type: 'string' },
  deleted: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  url: { type: 'string' },
} as const;

const LOOK_AGAIN_MS = 500;

/** Speaks to a running gateway with the operator's key: the embedded store has one process at a time. */
export async function erase(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const { user } = values;
  if (!user) throw new UsageError(`--user is missing.\n\n${USAGE}`);
  const remote = localRemote(settings, values.url);
  const call = (method: string, path: string, body?: object) =>
    remote.call<EndingReport>(method, `/v1/admin/erasures${path}`, body);
  if (!values.yes && !agrees(user)) return;
  let report = await call('POST', '', { user, ...(values.deleted && { is_deleted: true }) });
  console.log(`Erasure ${report.id} of user ${report.user_id} has begun.`);
  for (let shown = ''; report.status === 'running'; report = await call('GET', `/${report.id}`)) {
    const line = progressOf(report);
    if (line !== shown) console.log(line);
    shown = line;
    await Bun.sleep(LOOK_AGAIN_MS);
  }
  console.log(linesOf(report).join('\n'));
}

function agrees(user: string): boolean {
  const answer = prompt(`Everything of ${user} will be removed, for good. Write "yes" to go on:`);
  if (answer?.trim().toLowerCase() === 'yes') return true;
  console.log('Nothing was done.');
  return false;
}

const total = ({ removed }: EndingReport): number => removed.reduce((sum, { rows }) => sum + rows, 0);

const progressOf = (report: EndingReport): string => `… ${total(report)} rows removed`;

/** The report, for an operator who has to prove the erasure. */
function linesOf(report: EndingReport): string[] {
  const { removed, kept, at_providers, completed_at } = report;
  return [
    `Completed at ${completed_at}: ${total(report)} rows removed.`,
    ...removed.filter(({ rows }) => rows > 0).map(({ area, rows }) => `  removed  ${area}: ${rows}`),
    ...at_providers.map(({ area, id, error }) => `  at a provider  ${area} ${id}: ${error ?? 'told to stop'}`),
    ...kept.map(({ area, why }) => `  kept  ${area}: ${why}`),
  ];
}
