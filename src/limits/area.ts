import { join } from 'node:path';
import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { NoteEvent } from '../core/audit-event.ts';
import { turnClock } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import { recordAlarms } from './alarm-notes.ts';
import { createCoordinatedCounters } from './coordinated/coordinated-counters.ts';
import type { Counters } from './counters/counters.ts';
import { ledgerEndings, policyEndings } from './endings.ts';
import { openJournalCounters } from './journal/journal-counters.ts';
import { createLimiter, type Limiter } from './limiter.ts';
import { createPolicies } from './policies/policies.ts';

export interface LimitsParts extends Tools {
  readonly note: NoteEvent;
  readonly settings: { readonly processNumber: number | null };
}

/** What keys, virtual keys and workspaces may use, and what they have used. */
export const limitsArea = area({
  name: 'limits',
  open: async (parts: LimitsParts) => {
    const counters = await openCounters(parts);
    const limiter = createLimiter({
      counters,
      now: turnClock,
      newId: () => newId<string>(),
      alarm: recordAlarms(parts.note, parts.organisationId),
    });
    return {
      gives: { limiter },
      ends: ledgerEndings,
      close: async () => {
        limiter.close();
        await counters.close();
      },
    };
  },
});

const CHANNEL = 'limits';

function openCounters({ store, changes, redis, health, dataDir, settings, now }: LimitsParts): Promise<Counters> {
  const report = (problem: string) => void process.stderr.write(`${problem}\n`);
  const { processNumber } = settings;
  const folder = join(dataDir, processNumber === null ? 'limits' : `limits-${processNumber}`);
  if (store.engine === 'sqlite') return openJournalCounters({ store, folder, now, report });
  return createCoordinatedCounters({
    ...{ store, redis, folder, now, health, report },
    nudge: {
      send: () => changes.notify(store.db, CHANNEL, ''),
      onReceive: (handler) => void changes.onNotify(CHANNEL, handler),
    },
  });
}

/** Limits for groups of callers. */
export const policiesArea = area({
  name: 'policies',
  endsAtOnce: policyEndings,
  open: ({ store, changes, limiter, turnNow }: Tools & { readonly limiter: Limiter }) => {
    return { gives: { policies: createPolicies({ store, changes, budgets: limiter, now: turnNow }) } };
  },
});
