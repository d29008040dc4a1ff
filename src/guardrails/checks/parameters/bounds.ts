import * as z from 'zod';

/** A bound of a count. */
export const bound = (fallback: number) =>
  z.int('give a whole number').min(0, 'must not be negative').default(fallback);

/** The rule that something can lie between two bounds, and its fault. */
export const inOrder = <Name extends string>(
  lower: Name,
  upper: Name,
): [isInOrder: (bounds: Readonly<Record<Name, number>>) => boolean, fault: { path: string[]; error: string }] => [
  (bounds) => bounds[lower] <= bounds[upper],
  { path: [upper], error: `must not be less than ${lower}` },
];

/** What a counting check answers. */
export function counted(count: number, { min, max, not }: { min: number; max: number; not: boolean }) {
  const isBetween = count >= min && count <= max;
  return {
    verdict: isBetween !== not,
    explanation: `There are ${count}; ${not ? 'not ' : ''}between ${min} and ${max} are allowed.`,
  };
}
