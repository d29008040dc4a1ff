import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validator } from '@cfworker/json-schema';
import { parse, parseAllDocuments } from 'yaml';
import { CHART } from '../docs/chart.ts';
import { isFiled, unknownVariables, variables } from '../src/settings/variables.ts';
import { readSettings } from '../src/settings.ts';
import { chartDigest } from './chart-digest.ts';
import { root } from './process.ts';

/** What can be seen of the chart without Helm. `scripts/check-chart.ts` renders it, and keeps what came out. */

// biome-ignore-start lint/suspicious/noExplicitAny: the tests look into what stands in files
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const yaml = (path: string): any => parse(read(path));
const schema = JSON.parse(read(`${CHART}/values.schema.json`));
const values = yaml(`${CHART}/values.yaml`);
const templates = readdirSync(join(root, CHART, 'templates')).map((name) => read(`${CHART}/templates/${name}`));
const faults = (given: object) => new Validator(schema, '7').validate(given).errors.map(({ error }) => error);

/** A set of values laid over the defaults as Helm does it. */
function laidOver(below: any, above: any): any {
  if (above === null || typeof above !== 'object' || Array.isArray(above)) return above;
  const whole = { ...below };
  for (const [name, value] of Object.entries(above))
    if (value === null) delete whole[name];
    else whole[name] = laidOver(whole[name] ?? {}, value);
  return whole;
}

describe('the schema of the values', () => {
  test('is a schema, takes the defaults, and knows nothing beside them', () => {
    expect(faults(values)).toEqual([]);
    const compare = (at: string, { $ref, properties, additionalProperties }: any, value: any): void => {
      if ($ref || !properties) return;
      expect([at, additionalProperties]).toEqual([at, false]);
      if (at === '.settings' || at === '.secrets') return;
      const named = Object.keys(properties).filter((name) => name !== 'global' && name !== 'claims');
      expect([at, named.sort()]).toEqual([at, Object.keys(value).sort()]);
      for (const name of named) compare(`${at}.${name}`, properties[name], value[name]);
    };
    compare('', schema, values);
  });

  test.each(readdirSync(join(root, 'deploy/helm/values')))('takes %s', (name) => {
    expect(faults(laidOver(values, yaml(`deploy/helm/values/${name}`)))).toEqual([]);
  });

  test.each([
    ['a value that is misspelt', { image: { repo: 'x' } }, 'repo'],
    ['a setting that is misspelt', { settings: { GATEWAY_LOG_BODYS: true } }, 'GATEWAY_LOG_BODYS'],
    ['a secret among the settings', { settings: { GATEWAY_ADMIN_KEY: 'gw-written-out' } }, 'GATEWAY_ADMIN_KEY'],
    ['a secret that is written out', { secrets: { JWT_PRIVATE_KEY: 'written out' } }, 'JWT_PRIVATE_KEY'],
    ['a setting that the chart gives', { settings: { GATEWAY_DATA_DIR: '/x' } }, 'GATEWAY_DATA_DIR'],
    ['the address of a database', { database: { existingSecret: 'postgres://u:p@host/name' } }, 'existingSecret'],
  ])('refuses %s', (_, given, named) => {
    expect(faults(laidOver(values, given)).join('\n')).toContain(named);
  });
});

test('values that templates read are there, and those that are there are read', () => {
  const text = templates.join('\n');
  for (const [, path] of text.matchAll(/\.Values\.([\w.]+)/g)) {
    const found = path!.split('.').reduce((value, name) => value?.[name], values);
    expect([path, found === undefined]).toEqual([path, false]);
  }
  for (const name of Object.keys(values)) expect([name, text.includes(`.Values.${name}`)]).toEqual([name, true]);
});

test('settings that the chart names exist, and those that come as files may', () => {
  const text = templates.join('\n') + read(`${CHART}/values.yaml`);
  for (const [name] of text.matchAll(/\b(?:GATEWAY|OTEL|JWT)_[A-Z_]+\b/g)) expect(name in variables).toBe(true);
  for (const { key } of [values.database, values.redis, values.encryptionKey, values.adminKey])
    expect(isFiled(key)).toBe(true);
});

test('the chart is of this version, and of the port and the user of the image', () => {
  const { version } = JSON.parse(read('package.json'));
  const { appVersion, version: own } = yaml(`${CHART}/Chart.yaml`);
  const dockerfile = read('Dockerfile');

  expect([appVersion, own]).toEqual([version, version]);
  expect(dockerfile).toMatch(/^EXPOSE 8787$/m);
  expect(dockerfile).toContain(`USER ${values.podSecurityContext.runAsUser}:${values.podSecurityContext.runAsGroup}`);
  expect(values.service.port).toBe(8787);
});

test('what Helm made was made of this chart (scripts/check-chart.ts makes it again)', () => {
  expect(read('deploy/helm/rendered/chart.sha256').trim()).toBe(chartDigest());
});

const rendered = readdirSync(join(root, 'deploy/helm/rendered')).filter((name) => name.endsWith('.yaml'));

describe.each(rendered)('rendered from %s', (name) => {
  const objects: any[] = parseAllDocuments(read(`deploy/helm/rendered/${name}`)).map((each) => each.toJS());
  const of = (kind: string) => objects.filter((object) => object.kind === kind);
  const workloads = [...of('Deployment'), ...of('StatefulSet'), ...of('Job')];
  const nodes = workloads.filter(({ kind }) => kind !== 'Job');
  const isEmbedded = name.startsWith('embedded') || name.startsWith('openshift');
  const containersOf = ({ spec }: any) => [
    ...(spec.template.spec.initContainers ?? []),
    ...spec.template.spec.containers,
  ];
  const includes = (labels: object, some: object) => expect(labels).toMatchObject(some);

  test('one workload serves, of the kind that its store needs', () => {
    expect(nodes.map(({ kind }) => kind)).toEqual([isEmbedded ? 'StatefulSet' : 'Deployment']);
    if (isEmbedded) {
      expect(nodes[0].spec.replicas).toBe(1);
      expect(of('HorizontalPodAutoscaler')).toEqual([]);
      expect(of('PodDisruptionBudget')).toEqual([]);
    }
  });

  test('what selects pods finds those that serve, and none of the Job', () => {
    const { labels } = nodes[0].spec.template.metadata;
    for (const { spec } of [...of('Service'), ...of('PodDisruptionBudget'), nodes[0]]) {
      const selector = spec.selector.matchLabels ?? spec.selector;
      includes(labels, selector);
      for (const job of of('Job')) expect(job.spec.template.metadata.labels).not.toMatchObject(selector);
    }
    for (const { spec } of of('NetworkPolicy'))
      for (const workload of workloads) includes(workload.spec.template.metadata.labels, spec.podSelector.matchLabels);
  });

  test('pods have no right that they do not need', () => {
    for (const workload of workloads) {
      const { spec } = workload.spec.template;
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect([spec.automountServiceAccountToken, spec.enableServiceLinks]).toEqual([false, false]);
      for (const { securityContext } of containersOf(workload))
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    }
  });

  test('settings exist, can be used, and are no secrets', () => {
    for (const workload of workloads)
      for (const { env } of containersOf(workload)) {
        const names = env.map(({ name }: { name: string }) => name);
        expect(new Set(names).size).toBe(names.length);
        const plain = Object.fromEntries(env.map(({ name, value }: any) => [name, value]));
        expect(unknownVariables(plain)).toEqual([]);
        for (const setting of names) expect([setting, isFiled(setting)]).toEqual([setting, false]);
        // What only holds beside a secret, which lies in a file that is not here, is left out.
        const alone = Object.fromEntries(
          Object.entries<string>(plain).filter(
            ([setting, value]) => value !== undefined && !/_FILE$|^GATEWAY_OIDC_|^GATEWAY_PROCESSES$/.test(setting),
          ),
        );
        expect(() => readSettings(alone)).not.toThrow();
      }
  });

  test('mounts are volumes that are there, and files of settings lie in them', () => {
    for (const workload of workloads) {
      const { volumes } = workload.spec.template.spec;
      const claimed = (workload.spec.volumeClaimTemplates ?? []).map(({ metadata }: any) => metadata.name);
      const there = [...volumes.map((volume: any) => volume.name), ...claimed];
      expect(new Set(there).size).toBe(there.length);
      for (const { volumeMounts, env } of containersOf(workload)) {
        for (const mount of volumeMounts) expect(there).toContain(mount.name);
        const secrets = volumes.find((volume: any) => volume.name === 'secrets')?.projected.sources ?? [];
        const files = secrets.map(({ secret }: any) => secret.items[0].path);
        for (const { name: setting, value } of env)
          if (value?.startsWith('/etc/gateway/secrets/')) {
            expect(files).toContain(value.split('/').at(-1));
            expect(setting).toBe(`${value.split('/').at(-1)}_FILE`);
          }
      }
    }
  });

  test('probes ask for what there is, and pods have more time to stop than nodes take', () => {
    const [{ spec }] = nodes.map(({ spec }) => spec.template);
    const [container] = spec.containers;
    const paths = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => container[probe].httpGet.path);
    expect(paths).toEqual(['/health', '/health', '/ready']);
    const plain = Object.fromEntries(container.env.map(({ name, value }: any) => [name, value]));
    const seconds = Number(plain.GATEWAY_SHUTDOWN_SECONDS ?? readSettings({}).shutdownSeconds);
    const before = container.lifecycle?.preStop.sleep.seconds ?? 0;
    expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(seconds + before + 10);
    expect(container.ports).toEqual([{ name: 'http', containerPort: Number(plain.PORT) }]);
    expect(container.livenessProbe.httpGet.scheme).toBe(plain.GATEWAY_TLS_CERT_FILE ? 'HTTPS' : 'HTTP');
  });
});
// biome-ignore-end lint/suspicious/noExplicitAny: as above
