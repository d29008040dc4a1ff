import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { showBar } from './progress.ts';
import { localRemote } from './remote.ts';

const USAGE = `gateway analytics rebuild [--url <address>]

Counts the figures of /v1/analytics anew from the request log, hour by hour, the newest first. A running gateway does it,
beside its calls; the command shows how far it is and may be ended: the gateway goes on. Figures stay right meanwhile.

  --url <address>   where the gateway is; http://127.0.0.1 with its PORT unless given
`;

const options = { url: { type: 'string' } } as const;
const LOOK_AGAIN_MS = 500;
const HOUR_MS = 3_600_000;

interface Rebuild {
  readonly status: 'running' | 'completed';
  readonly counted_from: string | null;
  readonly log_from: string | null;
}

/** Speaks to a running gateway with the operator's key. */
export async function analytics(settings: Settings, [action, ...rest]: readonly string[]): Promise<void> {
  if (action !== 'rebuild') {
    readArguments(action === undefined ? [] : [action, ...rest], { options, positionals: 0, usage: USAGE });
    throw new UsageError(`say what to do.\n\n${USAGE}`);
  }
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const remote = localRemote(settings, values.url);
  const call = (method: string) => remote.call<Rebuild>(method, '/v1/analytics/rebuild');
  let rebuild = await call('POST');
  const total = hoursLeft(rebuild);
  const bar = showBar({ what: 'hours', total });
  for (let done = 0; rebuild.status === 'running'; rebuild = await call('GET')) {
    const now = Math.max(done, total - hoursLeft(rebuild));
    bar.add(now - done);
    done = now;
    await Bun.sleep(LOOK_AGAIN_MS);
  }
  bar.end();
  console.log('All figures are counted.');
}

const hoursLeft = ({ counted_from, log_from }: Rebuild): number =>
  counted_from === null || log_from === null
    ? 0
    : Math.max(0, Math.ceil((Date.parse(counted_from) - Date.parse(log_from)) / HOUR_MS));
