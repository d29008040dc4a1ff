import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { unknownVariables } from '../src/settings/variables.ts';
import { readSettings } from '../src/settings.ts';
import { root } from './process.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: the test looks into what stands in files
const yaml = (path: string): any => parse(read(path), { merge: true });

const composes = readdirSync(join(root, 'deploy')).filter((name) => name.startsWith('compose'));

describe.each(composes)('deploy/%s', (name) => {
  const { services, volumes = {} } = yaml(`deploy/${name}`);
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const all: [string, any][] = Object.entries(services);

  test('mounts only files that are there, and volumes that it makes', () => {
    for (const [, service] of all)
      for (const [from] of (service.volumes ?? []).map((each: string) => each.split(':')))
        expect([from, from.startsWith('.') ? existsSync(join(root, 'deploy', from)) : from in volumes]).toEqual([
          from,
          true,
        ]);
  });

  test('opens nothing to other machines', () => {
    for (const [, { ports = [] }] of all) for (const port of ports) expect(port).toStartWith('127.0.0.1:');
  });

  test('gives nodes only settings that exist, and more time to stop than they take', () => {
    const seconds = readSettings({}).shutdownSeconds;
    for (const [, service] of all.filter(([, { build }]) => build !== undefined)) {
      expect(unknownVariables(service.environment ?? {})).toEqual([]);
      expect(Number.parseInt(service.stop_grace_period, 10)).toBeGreaterThan(seconds);
      expect(existsSync(join(root, 'deploy', service.build, 'Dockerfile'))).toBe(true);
    }
  });

  test('asks for every secret, and has none', () => {
    const text = read(`deploy/${name}`);
    const asked = [...text.matchAll(/\$\{(\w+)/g)].map(([, variable]) => variable!);
    const example = read('deploy/example.env');
    for (const variable of asked) expect(example).toMatch(new RegExp(`^${variable}=`, 'm'));
    for (const [, variable] of text.matchAll(/^\s+(\w*(?:PASSWORD|KEY)): (?!\$\{)/gm)) expect(variable).toBe('');
  });
});

test('what watches the nodes names them as they are called, and reads our rules', () => {
  const { services } = yaml('deploy/compose.postgres.yaml');
  const { scrape_configs } = yaml('deploy/prometheus.yaml');
  for (const target of scrape_configs[0].static_configs[0].targets)
    expect(services).toHaveProperty(target.split(':')[0]);
  for (const [, host] of read('deploy/nginx.conf').matchAll(/^\s+server ([\w-]+):8787/gm))
    expect(services).toHaveProperty(host!);
  for (const folder of ['datasources', 'dashboards'])
    for (const file of readdirSync(join(root, 'deploy/grafana', folder)))
      expect(yaml(join('deploy/grafana', folder, file)).apiVersion).toBe(1);
});

test('the image does not run as root, and says so with a number', () => {
  expect(read('Dockerfile')).toMatch(/^USER 10001:10001$/m);
});

test('workflows run commands that exist', () => {
  const { scripts } = JSON.parse(read('package.json'));
  const folder = '.github/workflows';
  for (const file of readdirSync(join(root, folder))) {
    const { jobs } = yaml(join(folder, file));
    for (const { steps } of Object.values<{ steps: { run?: string }[] }>(jobs))
      for (const { run } of steps) {
        const [, script] = /^npm run ([\w:]+)/.exec(run ?? '') ?? [];
        if (script) expect(scripts).toHaveProperty(script);
        const [, path] = /^bash (\S+)/.exec(run ?? '') ?? [];
        if (path) expect(existsSync(join(root, path))).toBe(true);
      }
  }
  for (const file of readdirSync(join(root, dirname(folder), 'ISSUE_TEMPLATE')))
    expect(yaml(join('.github/ISSUE_TEMPLATE', file))).toBeObject();
});
