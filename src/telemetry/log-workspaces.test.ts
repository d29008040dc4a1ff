import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmptyDatabase } from '../../test/postgres.ts';
import { ask, row } from '../../test/telemetry/log-rows.ts';
import type { Summed } from './analytics/sums.ts';
import { positionOf } from './log-query.ts';
import { type LogTarget, openLogStore } from './log-store.ts';

const DAY_MS = 86_400_000;
const NOW = Date.now();
const TODAY = Math.floor(NOW / DAY_MS) * DAY_MS;
const folder = mkdtempSync(join(tmpdir(), 'gateway-workspaces-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TARGETS: Readonly<Record<LogTarget['engine'], () => Promise<LogTarget>>> = {
  sqlite: async () => ({ engine: 'sqlite', file: join(folder, 'logs.db') }),
  postgres: async () => ({ engine: 'postgres', url: await createEmptyDatabase() }),
};

/** Moments of each workspace: some have entries on one day alone, none of them on all. */
const MOMENTS: Readonly<Record<string, readonly number[]>> = {
  long_ago: [TODAY - 20 * DAY_MS, TODAY - 9 * DAY_MS],
  of_last_week: [TODAY - 7 * DAY_MS - 1, TODAY - 7 * DAY_MS, TODAY - 5 * DAY_MS],
  of_yesterday: [TODAY - DAY_MS - 1, TODAY - DAY_MS, TODAY - 1],
  of_today: [TODAY, NOW - 1, NOW],
  of_tomorrow: [NOW + DAY_MS],
  'of nobody': [TODAY - 6 * DAY_MS, NOW - 2],
};

describe.each(Object.keys(TARGETS) as LogTarget['engine'][])('on %s', (engine) => {
  const opened = (async () => {
    const target = await TARGETS[engine]();
    const writer = await openLogStore(target, 'writer');
    const own = Object.entries(MOMENTS).flatMap(([workspace, moments]) =>
      moments.map((moment) =>
        row({
          id: Bun.randomUUIDv7('hex', moment),
          created_at: moment,
          workspace_id: workspace === 'of nobody' ? null : workspace,
        }),
      ),
    );
    const foreign = row({ id: Bun.randomUUIDv7(), organisation_id: 'other', workspace_id: 'theirs', created_at: NOW });
    const rows = [...own, foreign];
    await writer.insert({ rows, bodies: rows.map(() => null) });
    const reader = await openLogStore(target, 'reader');
    return { reader, writer, newest: own.sort((one, other) => other.created_at - one.created_at) };
  })();
  afterAll(async () => {
    const { reader, writer } = await opened;
    await reader.close();
    await writer.close();
  });
  const everyone = ask({ workspaceId: null });

  test('pages of an organisation hold every entry once, the newest first, whichever day it is of', async () => {
    const { reader, newest } = await opened;
    for (const limit of [1, 2, 5, 100]) {
      const seen: string[] = [];
      for (let cursor: string | undefined, pages = 0; pages < 50; pages++) {
        const page = await reader.list({ ...everyone, limit, ...(cursor && { after: positionOf(cursor)! }) });
        expect(page.data.length).toBeLessThanOrEqual(limit);
        seen.push(...page.data.map(({ id }) => id));
        cursor = page.next_cursor;
        if (!page.has_more) break;
      }
      expect(seen).toEqual(newest.map(({ id }) => id));
    }
  });

  test('a time begins and ends in the middle of days', async () => {
    const { reader, newest } = await opened;
    const bounds = newest.map(({ created_at }) => created_at);
    for (const startTime of bounds)
      for (const endTime of bounds) {
        const { data } = await reader.list({ ...everyone, limit: 100, startTime, endTime });
        const meant = newest.filter(({ created_at: moment }) => moment >= startTime && moment < endTime);
        expect(data.map(({ id }) => id)).toEqual(meant.map(({ id }) => id));
        const behind = await reader.list({
          ...everyone,
          limit: 100,
          startTime,
          after: { createdAt: endTime, id: '0' },
        });
        expect(behind.data.map(({ id }) => id)).toEqual(meant.map(({ id }) => id));
      }
  });

  test('what the log itself answers is counted in every workspace that has some of it', async () => {
    const { reader, newest } = await opened;
    for (const from of [TODAY - 21 * DAY_MS, TODAY - 6 * DAY_MS, TODAY, NOW - 1]) {
      const range = { from, until: NOW + 2 * DAY_MS };
      // No figures are kept of traces, so every entry is looked at.
      const question = { kind: 'sums', by: null, filter: { ...everyone, traceId: 'trace' }, range } as const;
      const sums = (await reader.analyse(question, performance.now() + 30_000)) as readonly Summed[];
      const calls = sums.reduce((total, each) => total + each.sums.calls, 0);
      expect([from, calls]).toEqual([from, newest.filter(({ created_at }) => created_at >= from).length]);
    }
  });
});
