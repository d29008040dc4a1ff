import type { Finding } from '../telling.ts';
import type { Look } from './look.ts';
import { apiKeysIn, byName, virtualKeysIn } from './names.ts';

const DAY_MS = 86_400_000;
/** So long after its end a key is still told of. */
const EXPIRED_MS = DAY_MS;
const MOST = 1_000;

interface KeyRow {
  readonly id: string;
  readonly name: string;
  readonly expires_at: number | null;
}

/** Keys that end soon, and in a second step those that have ended in the last day. */
export const lookAtKeys: Look<'key_expiring'> = async ({ within, of }, reach, { store, now }) => {
  const at = now();
  const until = at + within * 1_000;
  const between = { from: at - EXPIRED_MS, until };
  const apiKeys = apiKeysIn(store.db, reach)
    .where('expires_at', '>', between.from)
    .where('expires_at', '<=', between.until)
    .limit(MOST);
  const virtualKeys = virtualKeysIn(store.db, reach)
    .where('expires_at', '>', between.from)
    .where('expires_at', '<=', between.until)
    .limit(MOST);
  const asks = (member: 'api_key_id' | 'virtual_key') => of === undefined || of[member] !== undefined;
  const findings: Finding[] = [];
  if (asks('api_key_id')) {
    const rows = await (of?.api_key_id === undefined ? apiKeys : apiKeys.where('id', '=', of.api_key_id)).execute();
    findings.push(...rows.map((row) => findingOf('API key', 'api-key', row, at, within)));
  }
  if (asks('virtual_key')) {
    const rows = await (of?.virtual_key === undefined
      ? virtualKeys.execute()
      : byName<KeyRow>(virtualKeys, of.virtual_key));
    findings.push(...rows.map((row) => findingOf('Virtual key', 'virtual-key', row, at, within)));
  }
  return { findings, problem: null };
};

function findingOf(what: string, kind: string, { id, name, expires_at }: KeyRow, at: number, within: number): Finding {
  const isExpired = expires_at! <= at;
  const end = new Date(expires_at!).toISOString();
  return {
    subject: `${kind}/${id}`,
    level: isExpired ? 2 : 1,
    summary: `${what} "${name}" ${isExpired ? 'has expired at' : 'expires at'} ${end}.`,
    value: Math.round((expires_at! - at) / 1_000),
    threshold: isExpired ? 0 : within,
  };
}
