import { NOBODY, type NoteEvent } from '../core/audit-event.ts';
import { windowAt } from '../core/limits.ts';
import { NANO_DOLLARS } from '../core/money.ts';
import { uuidFrom } from '../crypto/stable-id.ts';
import type { Alarm } from './alarms.ts';

/** Records budgets that reach their alert or their end, once per period, however many nodes notice. */
export function recordAlarms(note: NoteEvent, organisationId: string): (alarm: Alarm) => void {
  return ({ limit, crossed, used, at }) => {
    const measure = limit.counts === 'cost' ? NANO_DOLLARS : 1;
    const { start } = windowAt(limit.period, at);
    const { kind, id, name } = limit.owner;
    note({
      id: uuidFrom(`${limit.counter} ${start} ${crossed} ${limit.max} ${limit.alertAt}`),
      at,
      caller: {
        organisationId,
        workspaceId: kind === 'workspace' ? id : '',
        type: 'api_key',
        id: kind === 'api-key' ? id : NOBODY,
      },
      resource: 'budgets',
      action: crossed === 'alert' ? 'alert' : 'exhaust',
      uri: '',
      status: 200,
      body: {
        owner: { kind, id, name },
        budget: limit.text,
        credit_limit: limit.max / measure,
        alert_threshold: limit.alertAt === null ? null : limit.alertAt / measure,
        current_usage: used / measure,
      },
    });
  };
}
