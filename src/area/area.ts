import type { Sweeper } from '../core/sweeper.ts';
import type { Route } from '../http/route.ts';
import type { Endings } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';
import type { Kind } from '../work/work.ts';
import type { WorkAbroad } from './abroad.ts';

/**
 * One area of the gateway, as its `area.ts` describes it. `Needs` are the parts that it is opened with, `Gives` those
 * that areas after it may need. `src/areas.ts` lists them all; a list in which an area comes before one that gives what
 * it needs does not compile.
 *
 *     export const notes = area({
 *       name: 'notes',
 *       open: ({ store, now }: Tools) => {
 *         const notes = createNotes({ store, now });
 *         return { gives: { notes }, routes: noteRoutes(notes), ends: noteEndings(store) };
 *       },
 *     });
 */
export interface Area<Needs, Gives extends object> {
  readonly name: string;
  /**
   * What of it goes in the transaction in which a workspace or a person ends. It stands outside of `open` because
   * commands end workspaces, too, and have no more than the store.
   */
  readonly endsAtOnce?: (store: Pick<Store, 'engine'>) => Endings;
  /** Builds it, and opens what is its own: threads, files, connections. `before` are the areas that are open by then. */
  readonly open: (parts: Needs, before: readonly OpenArea[]) => Opened<Gives> | Promise<Opened<Gives>>;
}

/** What an open area adds to the gateway. */
export interface Opened<Gives extends object = object> {
  /** For the areas after it. */
  readonly gives: Gives;
  readonly routes?: readonly Route[];
  /** Paths at which it serves WebSockets. */
  readonly sockets?: readonly Route[];
  /** What it does beside answering, as leased work. */
  readonly work?: readonly Kind[];
  /** What it does now and then on every node; begun when the gateway is ready. */
  readonly sweepers?: readonly (() => Sweeper)[];
  /** What becomes of its other rows when their owner ends: they go step by step, or stay. */
  readonly ends?: Endings;
  /** What it has running at providers. */
  readonly abroad?: WorkAbroad;
  /** Called when the process begins to stop: what it has under way may end. */
  readonly leave?: () => void;
  /** Called when no other code calls it any more, after the areas that came after it have closed. */
  readonly close?: () => void | Promise<void>;
}

/** An area that is open, as seen by the code that collects what all areas add. */
export type OpenArea = Opened & Pick<Area<never, object>, 'name' | 'endsAtOnce'>;

/** Lets the compiler find out what an area gives. */
export const area = <Needs, Gives extends object>(described: Area<Needs, Gives>): Area<Needs, Gives> => described;

/** What the given areas say about the ends of those who own their rows, the latest first: it writes into the others. */
export const endingsOf = (areas: readonly OpenArea[], store: Pick<Store, 'engine'>): Endings[] =>
  areas.toReversed().flatMap(({ ends, endsAtOnce }) => [...(ends ? [ends] : []), ...atOnce(endsAtOnce, store)]);

/** The same for a command, which has opened none. */
export const endingsAtOnce = (
  areas: readonly Pick<OpenArea, 'endsAtOnce'>[],
  store: Pick<Store, 'engine'>,
): Endings[] => areas.toReversed().flatMap(({ endsAtOnce }) => atOnce(endsAtOnce, store));

const atOnce = (endsAtOnce: OpenArea['endsAtOnce'], store: Pick<Store, 'engine'>): Endings[] =>
  endsAtOnce ? [endsAtOnce(store)] : [];
