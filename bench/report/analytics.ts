import { type AnalyticsSample, CALLS_PER_SECOND } from '../measure/analytics.ts';
import { short } from '../numbers.ts';
import { table } from './table.ts';
import { atMost, shown, type Verdict } from './verdict.ts';

const MOST_MS = 100;
/** Until all that a page of the console asks for is there. */
const MOST_PAGE_MS = 500;
/** What pages may do to the calls beside them. */
const MOST_TIMES = 2;
/** What the target is about. */
const ENTRIES = 10_000_000;

const STORES = ['embedded', 'PostgreSQL'] as const;

export function analyticsVerdicts(samples: readonly AnalyticsSample[]): Verdict[] {
  const most = Math.max(...samples.map(({ entries }) => entries));
  const verdictOf = (store: AnalyticsSample['store'], isPage: boolean): Verdict[] => {
    const [worst] = samples
      .filter((each) => each.store === store && each.entries === most && each.isPage === isPage && !each.isFirst)
      .sort((one, other) => other.p95 - one.p95);
    if (!worst) return [];
    const what = `slowest ${isPage ? 'page of the console' : 'analytics route'} at ${short(most)} entries, ${store}, p95`;
    const measured = { what, unit: 'ms', value: worst.p95, detail: ` (${worst.route})` };
    return most >= ENTRIES ? [atMost(isPage ? MOST_PAGE_MS : MOST_MS, measured)] : [shown(measured)];
  };
  return STORES.flatMap((store) => [
    ...verdictOf(store, false),
    ...verdictOf(store, true),
    ...callsVerdict(samples.filter((sample) => sample.store === store && sample.entries === most)),
  ]);
}

/** Pages that somebody opens must not hold the calls of others up. */
function callsVerdict(samples: readonly AnalyticsSample[]): Verdict[] {
  const pages = samples.flatMap(({ calls, ...page }) => (calls ? [{ ...page, ...calls }] : []));
  const [worst] = pages.sort((one, other) => other.p99 / other.aloneP99 - one.p99 / one.aloneP99);
  if (!worst) return [];
  const what = `p99 of calls while pages are opened, ${worst.store}, as a multiple of p99 without`;
  const withStalls = `${short(worst.p99WithStalls)} with what was under way while the machine stood still`;
  const detail = ` (${worst.route}: ${short(worst.p99)} and ${short(worst.aloneP99)} ms; ${withStalls})`;
  const measured = { what, unit: 'times', value: worst.p99 / worst.aloneP99, detail };
  return worst.entries >= ENTRIES ? [atMost(MOST_TIMES, measured)] : [shown(measured)];
}

export function analyticsDetails(samples: readonly AnalyticsSample[]): string[] {
  if (samples.length === 0) return [];
  const sizes = [...new Set(samples.map(({ entries }) => entries))];
  const columns = STORES.flatMap((store) => sizes.map((entries) => ({ store, entries })));
  const routes = [...new Set(samples.map(({ route }) => route))];
  const cell = (route: string, { store, entries }: (typeof columns)[number]) => {
    const found = samples.find((each) => each.route === route && each.store === store && each.entries === entries);
    return found ? `${short(found.p50)} / ${short(found.p95)}` : '';
  };
  return [
    '### Analytics',
    `p50 / p95 in ms over an hour, a day, a week and a month, with and without filters, while ${CALLS_PER_SECOND} calls/s pass.`,
    table(
      ['route', ...columns.map(({ store, entries }) => `${store}, ${short(entries)}`)],
      routes.map((route) => [`\`${route}\``, ...columns.map((column) => cell(route, column))]),
    ),
  ];
}
