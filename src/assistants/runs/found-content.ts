import type { Db } from '../../storage/store.ts';
import type { RunEvent } from './events.ts';
import { detailsOf, type Step } from './step.ts';

/** Before it has ended, a step has found nothing. */
const ENDED_STEP = /^thread\.run\.step\.(completed|failed|cancelled|expired)$/;

/** The data of an event, with the text that a file search has found: events go without it, the step's row has it. */
export async function withFoundContent(db: Db, { name, data }: RunEvent): Promise<string> {
  if (!ENDED_STEP.test(name) || !data.includes('"file_search"')) return data;
  const step = JSON.parse(data) as Step;
  const row = await db.selectFrom('run_steps').select('details').where('id', '=', step.id).executeTakeFirst();
  return row ? JSON.stringify({ ...step, step_details: detailsOf(row) }) : data;
}
