import { readFileSync } from 'node:fs';
import type { Settings } from '../settings.ts';
import type { SyncedPrices } from '../telemetry/price-sync.ts';
import { readArguments, UsageError } from './arguments.ts';
import { remoteOf } from './remote.ts';

const USAGE = `gateway prices sync <address or file> --sha256 <hex> | --signature <base64>
gateway prices show
gateway prices remove

Takes over a list of prices, on every node, without a restart. A running gateway checks it, and fetches it when an address is
given; a list with a fault changes nothing.

  --sha256 <hex>        of the bytes of the list
  --signature <base64>  of the bytes, by the key whose public part is GATEWAY_PRICES_SYNC_KEY
  --url <address>       where the gateway is; http://127.0.0.1 with its PORT unless given
`;

const options = { sha256: { type: 'string' }, signature: { type: 'string' }, url: { type: 'string' } } as const;

/** Speaks to a running gateway with the operator's key: the embedded store has one process at a time. */
export async function prices(settings: Settings, [action, ...rest]: readonly string[]): Promise<void> {
  if (action !== 'sync' && action !== 'show' && action !== 'remove') {
    readArguments(action === undefined ? [] : [action, ...rest], { options, positionals: 0, usage: USAGE });
    throw new UsageError(`say what to do.\n\n${USAGE}`);
  }
  const { values, positionals } = readArguments(rest, {
    options,
    positionals: action === 'sync' ? 1 : 0,
    usage: USAGE,
  });
  const remote = remoteOf(settings, values.url);
  const call = <Answer>(method: string, path: string, body?: object) =>
    remote.call<Answer>(method, `/v1/admin/prices${path}`, body);
  if (action === 'show') return say((await call<Held>('GET', '')).synced);
  if (action === 'remove') return say((await call<Held>('DELETE', '')).synced);
  const { sha256, signature } = values;
  if (sha256 === undefined && signature === undefined) throw new UsageError(`--sha256 is missing.\n\n${USAGE}`);
  const [source = ''] = positionals;
  const isAddress = /^https?:\/\//.test(source);
  const content = isAddress ? undefined : contentOf(source);
  say(await call<SyncedPrices>('POST', '/sync', { source, content, sha256, signature }));
}

interface Held {
  readonly synced: SyncedPrices | null;
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as { code?: string }).code ?? String(error)}).`);
  }
}

function say(synced: SyncedPrices | null): void {
  if (!synced) {
    console.log('No list was synced: the built-in one is in force.');
    return;
  }
  const { models, source, sha256, as_of, synced_at } = synced;
  console.log(`Prices of ${models} models${as_of ? `, as of ${as_of}` : ''}, from ${source}, since ${synced_at}.`);
  console.log(`sha256 ${sha256}`);
}
