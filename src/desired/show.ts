import type { Difference, Plan, Step } from './plan.ts';

const SIGN = { create: '+', change: '~', delete: '-' } as const;

const text = (value: unknown): string => {
  const written = JSON.stringify(value) ?? 'null';
  return written.length > 80 ? `${written.slice(0, 77)}…` : written;
};

const differenceText = ({ field, from, to }: Difference): string =>
  from === undefined && to === undefined ? `      ${field}: changed` : `      ${field}: ${text(from)} → ${text(to)}`;

/** What of a plan people are shown. */
export interface ShownSteps extends Pick<Plan, 'unchanged' | 'kept' | 'leftDeleted'> {
  readonly steps: readonly Pick<Step, 'action' | 'title' | 'differences'>[];
}

/** The difference for people to read; of secrets only that they are others. */
export function planLines({ steps, unchanged, kept, leftDeleted }: ShownSteps): string[] {
  const lines = steps.flatMap(({ action, title, differences }) => [
    `  ${SIGN[action]} ${action} ${title}`,
    ...differences.map(differenceText),
  ]);
  for (const title of kept) lines.push(`    ${title} is no longer in the file and stays; --prune deletes it`);
  for (const title of leftDeleted) lines.push(`    ${title} was deleted here since it was imported and stays so`);
  const count = (action: string) => steps.filter((step) => step.action === action).length;
  lines.push(
    `${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete, ${unchanged} as they should be.`,
  );
  return lines;
}
