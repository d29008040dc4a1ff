/** One statement: with its values, or for each of many rows. */
export interface Ask {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rows?: readonly (readonly unknown[])[];
}
// biome-ignore lint/suspicious/noExplicitAny: rows are as their statement says
export type Answer = any[];
/**
 * Work on the store, a statement at a time, so that both engines do the same: the embedded one at once, PostgreSQL when
 * the answers come. Each is one transaction, and no two of them run at the same time.
 */
export type Work<Result> = Generator<Ask, Result, Answer>;
