import type { AlertSightingRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import type { Finding } from '../telling.ts';
import { inPercent, inWords, type Look, type LookDeps, type Reach } from './look.ts';
import { byName, configsIn } from './names.ts';

/** Conditions on what each node sees for itself. What several see is one thing. */

const MINUTE_MS = 60_000;

const sightings = async (
  { store, now }: LookDeps,
  kind: AlertSightingRow['kind'],
  { workspaceId }: Reach,
): Promise<AlertSightingRow[]> => {
  const fresh = store.db
    .selectFrom('alert_sightings')
    .selectAll()
    .where('kind', '=', kind)
    .where('expires_at', '>', now());
  return (workspaceId === null ? fresh : fresh.where('workspace_id', '=', workspaceId)).execute();
};

export const lookAtBreakers: Look<'breaker_open'> = async ({ config, calm }, reach, deps) => {
  const at = deps.now();
  const open = new Map<string, AlertSightingRow>();
  for (const row of await sightings(deps, 'breaker', reach)) {
    const key = `${row.workspace_id} ${row.subject}`;
    if (Number(row.amount) + calm * 1_000 > at && Number(row.amount) > Number(open.get(key)?.amount ?? 0))
      open.set(key, row);
  }
  if (open.size === 0) return { findings: [], problem: null };
  const names = await configNames(deps.store.db, reach, config);
  const findings = [...open].flatMap(([subject, row]): Finding[] => {
    const [planId = '', target = ''] = splitAt(row.subject);
    const name = names.get(planId);
    if (config !== undefined && name === undefined) return [];
    const whose = name === undefined ? 'a config that came with the call' : `config ${name}`;
    const summary = `The circuit breaker of ${target} in ${whose} is open: its calls go elsewhere.`;
    return [{ subject, level: 1, summary, value: null, threshold: null }];
  });
  return { findings, problem: null };
};

/** A plan's id may have a space in it, the path of a target has none. */
const splitAt = (subject: string): [plan: string, target: string] => {
  const at = subject.lastIndexOf(' ');
  return [subject.slice(0, at), subject.slice(at + 1)];
};

/** The slugs of configs by the ids of their versions. */
async function configNames(db: Db, reach: Reach, only: string | undefined): Promise<Map<string, string>> {
  const all = configsIn(db, reach);
  const configs = await (only === undefined ? all.execute() : byName<{ id: string; slug: string }>(all, only));
  if (configs.length === 0) return new Map();
  const slugs = new Map(configs.map(({ id, slug }) => [id, slug]));
  const versions = await db
    .selectFrom('config_versions')
    .select(['id', 'config_id'])
    .where('config_id', 'in', [...slugs.keys()])
    .execute();
  return new Map(versions.map(({ id, config_id }) => [id, slugs.get(config_id)!]));
}

export const lookAtProviders: Look<'provider_down'> = async (condition, reach, deps) => {
  const { provider, above, window, min_calls } = condition;
  const from = Math.floor((deps.now() - window * 1_000) / MINUTE_MS);
  const counts = new Map<string, { failed: number; asked: number }>();
  for (const { subject, slot, amount, whole } of await sightings(deps, 'provider', reach)) {
    if (Number(slot) < from || (provider !== undefined && subject !== provider)) continue;
    const sum = counts.get(subject) ?? { failed: 0, asked: 0 };
    sum.failed += Number(amount);
    sum.asked += Number(whole);
    counts.set(subject, sum);
  }
  const findings = [...counts].flatMap(([subject, { failed, asked }]): Finding[] => {
    const value = (100 * failed) / asked;
    if (asked < min_calls || value < above) return [];
    const summary = `Provider ${subject} does not answer: ${inPercent(value)} of ${asked} attempts within ${inWords(window)} have failed.`;
    return [{ subject, level: 1, summary, value, threshold: above }];
  });
  return { findings, problem: null };
};

export const lookAtDisks: Look<'disk'> = async ({ free_below }, reach, deps) => {
  const findings = new Map<string, Finding>();
  for (const { subject, amount, whole } of await sightings(deps, 'disk', reach)) {
    const value = whole > 0 ? (100 * Number(amount)) / Number(whole) : 100;
    if (value >= free_below || value >= (findings.get(subject)?.value ?? 101)) continue;
    const summary = `${inPercent(value)} of the disk of ${subject} are free: ${Math.round(Number(amount) / 2 ** 20)} MiB.`;
    findings.set(subject, { subject, level: 1, summary, value, threshold: free_below });
  }
  return { findings: [...findings.values()], problem: null };
};

export const lookAtHealth: Look<'degraded'> = async ({ parts }, reach, deps) => {
  const findings = new Map<string, Finding>();
  for (const { subject, detail } of await sightings(deps, 'health', reach))
    if (parts === undefined || (parts as readonly string[]).includes(subject))
      findings.set(subject, { subject, level: 1, summary: detail ?? subject, value: null, threshold: null });
  return { findings: [...findings.values()], problem: null };
};
