import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { catalogue } from '../../src/core/errors.ts';
import { HEALTH_PARTS } from '../../src/core/health.ts';
import type { Description } from '../../src/telemetry/metrics/family.ts';
import { ofNode } from '../../src/telemetry/metrics/node.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { root } from '../process.ts';
import { readExpression, variablesIn } from '../telemetry/promql.ts';
import { readScrape, type Scrape } from '../telemetry/scrape.ts';

const folder = join(root, 'grafana');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat: string;
  readonly datasource: { readonly uid: string };
}
interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { name: string; type: string; definition?: string }[] };
  readonly panels: readonly Panel[];
}
interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

const dashboards = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({ file, dashboard: JSON.parse(read(file)) as Dashboard }));
const rules = (parse(read('alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

let gateway: TestGateway;
let families: readonly Description[];
let scrape: Scrape;
beforeAll(async () => {
  gateway = await startGateway();
  const siblings = { own: 0, ask: async () => new Map(), answerBy: () => {} };
  // What is scraped of a node with several processes has a label and a family more.
  const described = gateway.families.map((family) => ({ ...family, series: [] }) as never);
  families = await ofNode(described, siblings);
  scrape = readScrape((await gateway.api.get('/metrics')).text);
});
afterAll(() => gateway.stop());

/** Prometheus adds them to whatever it scrapes. */
const OF_TARGET = ['instance', 'job'];
const COUNTING = new Set(['rate', 'irate', 'increase']);
/** Labels whose values are known beforehand. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  code: Object.keys(catalogue),
  part: HEALTH_PARTS,
  failed_by: ['', 'client', 'gateway', 'provider'],
  result: ['written', 'spooled', 'dropped'],
  kind: ['input', 'output', 'cached_input', 'reasoning'],
};

/** What is wrong with an expression, by what the gateway counts. */
function faultsOf(expression: string): string[] {
  const faults: string[] = [];
  const { selectors, grouped } = readExpression(expression);
  const all = new Set(OF_TARGET);
  for (const { metric, matchers, isRange, inside } of selectors) {
    const [, base = metric, suffix] = /^(.+?)(_bucket|_sum|_count)?$/.exec(metric)!;
    const family = families.find(({ name, type }) =>
      type === 'histogram' ? name === base && suffix : name === metric,
    );
    const isScraped = scrape.has(family?.name ?? '') || family?.name === 'gateway_process_up';
    if (!family || !isScraped) {
      faults.push(`there is no ${metric}`);
      continue;
    }
    const known = [...family.labels, ...OF_TARGET, ...(suffix === '_bucket' ? ['le'] : [])];
    for (const label of known) all.add(label);
    const isCounted = family.type !== 'gauge';
    if (isRange && COUNTING.has(inside ?? '') !== isCounted)
      faults.push(`${metric} is a ${family.type} inside ${inside}`);
    if (!isRange && isCounted) faults.push(`${metric} is taken as it is, though it only grows`);
    for (const { label, operator, value } of matchers) {
      if (!known.includes(label)) faults.push(`${metric} has no label ${label}`);
      const values = operator.endsWith('~') ? value.split('|') : [value];
      for (const each of value.startsWith('$') ? [] : values)
        if (VALUES[label] && !VALUES[label].includes(each)) faults.push(`${label} is never ${each}`);
    }
  }
  return [...faults, ...grouped.filter((label) => !all.has(label)).map((label) => `${label} is no label of it`)];
}

test('a metric, a label, a value or a type that does not fit is seen', () => {
  const wrong: Record<string, string> = {
    'sum(rate(gateway_request_total[5m]))': 'there is no gateway_request_total',
    'rate(gateway_first_byte_seconds[5m])': 'there is no gateway_first_byte_seconds',
    'sum(rate(gateway_tokens_total{workspace="a"}[5m]))': 'gateway_tokens_total has no label workspace',
    'sum by (le) (rate(gateway_tokens_total[5m]))': 'le is no label of it',
    'sum(rate(gateway_failures_total{code=~"rate_limited|gone"}[5m]))': 'code is never gone',
    'rate(gateway_open_requests[5m])': 'gateway_open_requests is a gauge inside rate',
    'gateway_requests_total > 3': 'gateway_requests_total is taken as it is, though it only grows',
  };
  for (const [expression, fault] of Object.entries(wrong)) expect(faultsOf(expression)).toEqual([fault]);
  for (const broken of ['sum(rate(a[5m])', 'sum(a))', 'rate(a{b=c}[5m])', 'sum by a (b)', '', 'shout(a)', 'a[5]'])
    expect(() => readExpression(broken)).toThrow();
});

const legendLabels = (legend: string) =>
  [...legend.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label]) => label!);

for (const { file, dashboard } of dashboards) {
  test(`the dashboard ${file} asks for what the gateway tells`, () => {
    const { panels, templating } = dashboard;
    const variables = new Map(templating.list.map((variable) => [variable.name, variable]));
    const targets = panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, target })));
    expect(targets.length).toBeGreaterThan(5);
    const faults = targets.flatMap(({ title, target: { expr, legendFormat } }) => {
      const { grouped } = readExpression(expr);
      const lost = legendLabels(legendFormat).filter((label) => !grouped.includes(label));
      return [...faultsOf(expr), ...lost.map((label) => `${label} is not in it`)].map((fault) => `${title}: ${fault}`);
    });
    expect(faults).toEqual([]);

    const used = variablesIn(JSON.stringify(panels)).filter((name) => !name.startsWith('__'));
    expect([...new Set(used)].filter((name) => !variables.has(name))).toEqual([]);
    expect(variables.get('datasource')?.type).toBe('datasource');
    for (const { datasource } of [
      ...panels.filter(({ type }) => type !== 'row'),
      ...targets.map(({ target }) => target),
    ])
      expect(datasource?.uid).toMatch(/^\$\{datasource\}$/);
    for (const { definition } of variables.values()) {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? '') ?? [];
      if (definition)
        expect(
          faultsOf(`count by (${label}) (rate(${metric}[5m]))`).filter((fault) => !fault.includes('gauge')),
        ).toEqual([]);
    }

    const ids = panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { targets = [] } of panels) expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    const overlaps = panels.flatMap((one, index) =>
      panels
        .slice(index + 1)
        .filter((other) => overlap(one.gridPos, other.gridPos))
        .map(({ title }) => `${one.title} / ${title}`),
    );
    expect(overlaps).toEqual([]);
  });
}

const overlap = (one: Panel['gridPos'], other: Panel['gridPos']) =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;

test('dashboards have ids of their own', () => {
  for (const member of ['uid', 'title'] as const)
    expect(new Set(dashboards.map(({ dashboard }) => dashboard[member])).size).toBe(3);
});

test('every alert asks for what the gateway tells, and names labels that its result has', () => {
  const faults = rules.flatMap(({ alert, expr, annotations }) => {
    const { grouped, selectors } = readExpression(expr);
    const plain = selectors.length === 1 && grouped.length === 0 && selectors[0]!.inside === null;
    const named = families.find(({ name }) => plain && name === selectors[0]!.metric);
    const result = [...grouped, ...(named ? [...named.labels, ...OF_TARGET] : [])];
    const lost = Object.values(annotations)
      .flatMap(legendLabels)
      .filter((label) => !result.includes(label));
    return [...faultsOf(expr), ...lost.map((label) => `${label} is not in its result`)].map(
      (fault) => `${alert}: ${fault}`,
    );
  });
  expect(faults).toEqual([]);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, labels, annotations } of rules)
    expect([alert, labels.severity, annotations.summary]).toEqual([
      alert,
      expect.stringMatching(/^(?:critical|warning|info)$/),
      expect.any(String),
    ]);
});

test('the page on metrics names every dashboard and every alert', () => {
  const page = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  const names = [...dashboards.map(({ file }) => `grafana/${file}`), ...rules.map(({ alert }) => alert)];
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});
