/** How the suite judges a server. */
export interface Score {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  /** Run, and not required. */
  readonly optionalPassed: readonly string[];
  readonly optionalFailed: readonly string[];
}

const SCENARIO = /^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm;
const TOTAL = /^Total: (\d+) passed, (\d+) failed/m;
const UNSCORED = /^Not scored for \S+: (\d+) scenario\(s\) run, (\d+) failing/m;

/**
 * Reads the report. Scenarios that are run and not required stand in a list of their own after the summary. Throws where
 * the report is not of the form that is known: half of it must not pass for a good score.
 */
export function scoreOf(output: string): Score {
  const unknown = (why: string): never => {
    throw new Error(`The report of the suite is of an unknown form: ${why}`);
  };
  const [, summary] = output.split('=== SUMMARY ===');
  if (summary === undefined) return unknown('it has no summary');
  const [all = '', ...rest] = summary.split(/^(?=Not scored)/m);
  const unscored = rest.join('');
  const scenarios = [...all.matchAll(SCENARIO)].map(([, mark, name, passed, failed]) => ({
    name: name!,
    isGood: mark === '✓',
    passed: Number(passed),
    failed: Number(failed),
  }));
  const optional = [...unscored.matchAll(/^\s+([✓✗]) (\S+) \(/gm)].map(([, mark, name]) => ({
    name: name!,
    isGood: mark === '✓',
  }));
  const total = TOTAL.exec(all) ?? unknown('it has no total');
  const sum = (of: 'passed' | 'failed') => scenarios.reduce((count, each) => count + each[of], 0);
  if (sum('passed') !== Number(total[1]) || sum('failed') !== Number(total[2]))
    unknown('its scenarios do not add up to its total');
  const counted = UNSCORED.exec(unscored);
  if (unscored !== '' && !counted) unknown('it does not count what is not scored');
  if (
    optional.length !== Number(counted?.[1] ?? 0) ||
    optional.filter(({ isGood }) => !isGood).length !== Number(counted?.[2] ?? 0)
  )
    unknown('what is not scored does not add up');
  const names = new Set(optional.map(({ name }) => name));
  const required = scenarios.filter(({ name }) => !names.has(name));
  if (required.length === 0) unknown('it names no required scenario');
  const pick = (of: readonly { readonly name: string; readonly isGood: boolean }[], good: boolean) =>
    of.filter(({ isGood }) => isGood === good).map(({ name }) => name);
  return {
    passed: pick(required, true),
    failed: pick(required, false),
    optionalPassed: pick(optional, true),
    optionalFailed: pick(optional, false),
  };
}
