const STEPS = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((each) => each * 10 ** power)).flat();

/** How far apart the lines behind a chart may be: counts have no halves, and half of one would be called one. Undefined: anything. */
export const stepsOf = (values: readonly (readonly (number | null)[])[]): number[] | undefined =>
  values.every((each) => each.every((value) => value === null || Number.isInteger(value))) ? STEPS : undefined;
