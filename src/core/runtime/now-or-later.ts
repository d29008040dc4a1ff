/** A value that is at hand, or the promise of one that has to be fetched first. */
export type NowOrLater<Value> = Value | Promise<Value>;

const isLater = <Value>(value: NowOrLater<Value>): value is Promise<Value> => value instanceof Promise;

/**
 * Goes on with a value, at once where it is at hand. For what a cache mostly has: an async function makes a promise of
 * everything, and each promise is one more round through the queue of jobs.
 */
export const andThen = <Value, Result>(
  value: NowOrLater<Value>,
  next: (value: Value) => NowOrLater<Result>,
): NowOrLater<Result> => (isLater(value) ? value.then(next) : next(value));

/** What work makes, or what stands in for it where it fails. */
export function orElse<Value>(work: () => NowOrLater<Value>, otherwise: () => Value): NowOrLater<Value> {
  try {
    const value = work();
    return isLater(value) ? value.catch(otherwise) : value;
  } catch {
    return otherwise();
  }
}

/** All of them, at once where all are at hand. */
export const allOf = <Value>(values: readonly NowOrLater<Value>[]): NowOrLater<readonly Value[]> =>
  values.some(isLater) ? Promise.all(values) : (values as readonly Value[]);
