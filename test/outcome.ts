/** What `bun test` printed about one run. */

export interface TestLine {
  readonly file: string;
  readonly name: string;
  readonly isGood: boolean;
  readonly ms: number;
}

const HEADING = /^(\S+\.test\.ts):$/;
const TEST = /^\((pass|fail)\) (.*?)(?: \[([\d.]+)ms\])?$/;
/** After it, the runner names once more what failed, without the files. */
const REPETITION = /^\d+ tests? failed:$/;

export function testsIn(output: string): TestLine[] {
  let file = '';
  const tests: TestLine[] = [];
  for (const line of output.split('\n')) {
    if (REPETITION.test(line)) break;
    file = HEADING.exec(line)?.[1] ?? file;
    const [, result, name, ms = '0'] = TEST.exec(line) ?? [];
    if (result) tests.push({ file, name: name!, isGood: result === 'pass', ms: Number(ms) });
  }
  return tests;
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Outside of tests: a file that could not be loaded, an error that nobody caught. */
  readonly errors: number;
}

/** Null where nothing was counted. Tests may print such lines of their own; the summary stands at the end. */
export function countsIn(output: string): Counts | null {
  if (!/^ *\d+ pass$/m.test(output)) return null;
  const last = (pattern: RegExp) => Number([...output.matchAll(pattern)].at(-1)?.[1] ?? 0);
  return {
    passed: last(/^ *(\d+) pass$/gm),
    failed: last(/^ *(\d+) fail$/gm),
    errors: last(/^ *(\d+) errors?$/gm),
  };
}

/** So few may have failed because of what ran beside them; more have a cause of their own. */
const FEW = 5;

/** The tests that are worth another try alone: a few, each of a known file, and nothing failed outside of tests. */
export function worthAnotherTry(output: string): TestLine[] {
  const counts = countsIn(output);
  const failed = testsIn(output).filter(({ isGood, file }) => !isGood && file);
  return counts && counts.errors === 0 && counts.failed === failed.length && failed.length <= FEW ? failed : [];
}
