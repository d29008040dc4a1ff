import { NOBODY } from './audit/record.ts';
import type { AuditTrail } from './audit/trail.ts';
import { NANO_DOLLARS, windowAt } from './core/limits.ts';
import { sha256 } from './crypto/seal.ts';
import type { Alarm } from './limits/alarms.ts';

/** Records budgets that reach their alert or their end, once per period, however many nodes notice. */
export function recordAlarms(trail: Pick<AuditTrail, 'note'>, organisationId: string): (alarm: Alarm) => void {
  return ({ limit, crossed, used, at }) => {
    const measure = limit.counts === 'cost' ? NANO_DOLLARS : 1;
    const { start } = windowAt(limit.period, at);
    const { kind, id, name } = limit.owner;
    trail.note({
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

/** The same text is the same UUID (version 8: of our own making). */
function uuidFrom(text: string): string {
  const hex = sha256(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
