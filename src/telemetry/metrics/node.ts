import type { FamilySnapshot } from './family.ts';

/** The other processes of this node, with which it shares its port. */
export interface Siblings {
  /** Which of them this one is. */
  readonly own: number;
  /** What each of the others counts, by its number; null: it is not there, or did not answer in time. */
  ask(): Promise<ReadonlyMap<number, readonly FamilySnapshot[] | null>>;
  /** Says what this one answers when another asks. */
  answerBy(read: () => readonly FamilySnapshot[]): void;
}

type Counted = readonly (readonly [process: number, families: readonly FamilySnapshot[] | null])[];

/**
 * What all processes of a node count, each series with the number of its process: were they added up, a process that
 * starts anew would look as if all had.
 */
export async function ofNode(own: readonly FamilySnapshot[], siblings: Siblings): Promise<readonly FamilySnapshot[]> {
  const all: Counted = [[siblings.own, own], ...(await siblings.ask())];
  const families = new Map<string, FamilySnapshot>();
  for (const [number, counted] of all)
    for (const family of counted ?? [])
      families.set(family.name, joined(families.get(family.name), family, String(number)));
  return [...families.values(), upOf(all)];
}

function joined(before: FamilySnapshot | undefined, family: FamilySnapshot, process: string): FamilySnapshot {
  const labels = ['process', ...family.labels];
  const series = [
    ...(before?.series ?? []),
    ...family.series.map((each) => ({ ...each, labelled: [process, ...each.labelled] })),
  ];
  return { ...family, labels, series } as FamilySnapshot;
}

const upOf = (all: Counted): FamilySnapshot => ({
  name: 'gateway_process_up',
  type: 'gauge',
  help: 'Whether the process answered the one that was scraped.',
  labels: ['process'],
  series: all.map(([number, families]) => ({ labelled: [String(number)], value: families ? 1 : 0 })),
});
