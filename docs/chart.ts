import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FILED, isFiled, variables } from '../src/settings/variables.ts';

const root = join(import.meta.dir, '..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
export const CHART = 'deploy/helm/gateway';

/** Settings that the chart gives by itself, from values of another name. */
export const CHART_SETS = [
  'PORT',
  'GATEWAY_DATA_DIR',
  'GATEWAY_TLS_CERT_FILE',
  'GATEWAY_TLS_KEY_FILE',
  'GATEWAY_PROCESS_NUMBER',
  'GATEWAY_DATABASE_URL',
  'DATABASE_URL',
  'REDIS_URL',
  'GATEWAY_ENCRYPTION_KEY',
  'GATEWAY_ADMIN_KEY',
];
/** Headers may be secrets and cannot come from a file: they are given by extraEnv, out of a Secret. */
const isHeaders = (name: string): boolean => /^OTEL_.*_HEADERS$/.test(name);

const properties = (names: readonly string[], reference: string) =>
  Object.fromEntries(
    names
      .filter((name) => !CHART_SETS.includes(name))
      .map((name) => [
        name,
        { description: variables[name as keyof typeof variables], allOf: [{ $ref: `#/definitions/${reference}` }] },
      ]),
  );

/** The schema of the chart's values, with the settings that there are: a misspelt one is refused before it is installed. */
export function chartSchema(): string {
  const schema = JSON.parse(read(`${CHART}/values.schema.json`));
  const plain = Object.keys(variables).filter((name) => !isFiled(name) && !isHeaders(name));
  schema.properties.settings.properties = properties(plain, 'setting');
  schema.properties.secrets.properties = properties(FILED, 'secretReference');
  return `${JSON.stringify(schema, null, 2)}\n`;
}

/** A chart holds only what lies in its folder, so it has dashboards and rules a second time. */
const COPIED = ['alerts.yaml', 'limits.json', 'node.json', 'overview.json'];

export const chartFiles = [
  { path: `${CHART}/values.schema.json`, render: async () => chartSchema() },
  ...COPIED.map((name) => ({ path: `${CHART}/files/${name}`, render: async () => read(`grafana/${name}`) })),
];
