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

/** Null where nothing was counted. Tests and the pages that they tell of may print such lines; the summary is the end. */
export function countsIn(output: string): Counts | null {
  const begin = [...output.matchAll(/^ *\d+ pass$/gm)].at(-1);
  if (!begin) return null;
  const summary = output.slice(begin.index);
  const counted = (pattern: RegExp) => Number(pattern.exec(summary)?.[1] ?? 0);
  return {
    passed: counted(/^ *(\d+) pass$/m),
    failed: counted(/^ *(\d+) fail$/m),
    errors: counted(/^ *(\d+) errors?$/m),
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
