import { inWords, type Look } from './look.ts';

/** Work that is due, is being done by no node, and has waited for long: by its kind. */
export const lookAtQueue: Look<'queue'> = async ({ older_than }, _reach, { store, now }) => {
  const at = now();
  const rows = await store.db
    .selectFrom('work')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('waiting'), fn.min('run_at').as('oldest')])
    .where('run_at', '<=', at - older_than * 1_000)
    .where((where) => where.or([where('owner', 'is', null), where('lease_until', '<', at)]))
    .groupBy('kind')
    .execute();
  const findings = rows.map(({ kind, waiting, oldest }) => {
    const value = Math.floor((at - Number(oldest)) / 1_000);
    return {
      subject: kind,
      level: 1,
      summary: `Work of the kind ${kind} is not being done: ${Number(waiting)} wait, one of them for ${inWords(value)}.`,
      value,
      threshold: older_than,
    };
  });
  return { findings, problem: null };
};
