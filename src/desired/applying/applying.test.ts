import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { sha256 } from '../../crypto/seal.ts';
import { createFindings, findingLines } from '../reading/findings.ts';
import { secretsHere } from '../reading/secrets.ts';
import { readDocument, readSource } from '../reading/source.ts';
import { readApplyFile } from './file.ts';

const folder = join(import.meta.dir, '../../../test/fixtures/apply');
const environment = {
  APPLY_PROVIDER_KEY: 'sk-provider',
  APPLY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE',
  APPLY_AWS_SECRET: 'aws-secret',
  APPLY_NOTEBOOK_KEY: 'gw-notebook-key-for-tests',
};

function read(file: string) {
  const findings = createFindings();
  const source = readSource(join(folder, file), findings)!;
  return { found: readApplyFile(source, findings, secretsHere({ environment, folder })), findings };
}

test('a file is read whole, its references followed, what it leaves out set to its default', () => {
  const { found, findings } = read('gateway.yaml');

  expect(findings.faults).toEqual([]);
  expect(found!.name).toBe('fixture');
  const { workspaces, virtualKeys, configs, apiKeys, policies } = found!.desired;
  expect(workspaces[0]).toMatchObject({ slug: 'research', fields: { description: null, usage_limits: [] } });
  expect(virtualKeys[0]).toMatchObject({ slug: 'simulated', key: 'sk-provider', fields: { name: 'simulated' } });
  expect(virtualKeys[1]!.fields.configurations.aws_secret_access_key).toBe('aws-secret');
  expect(configs[0]).toMatchObject({ slug: 'careful', workspace: 'research' });
  expect(apiKeys[0]!.secret.hash).toBe(sha256(environment.APPLY_NOTEBOOK_KEY));
  expect(apiKeys[0]!.fields.usage_limits).toHaveLength(1);
  expect(policies[0]).toMatchObject({ policy: 'usage', workspace: 'research', ref: 'usage/research/per user' });
});

test('every fault is listed with its line, and no secret with it', () => {
  const { found, findings } = read('faulty.yaml');

  expect(found).toBeNull();
  const lines = findingLines(findings.faults);
  expect(lines.map((line) => line.replace('faulty.yaml:', '').replace(/: .*/s, ''))).toEqual(
    ['2', '4', '9', '12', '18', '23', '25', '29', '34', '33'].sort((a, b) => Number(a) - Number(b)),
  );
  expect(lines.join('\n')).toContain('virtual_keys[0].key: give {env: NAME} or {file: path}; a secret itself');
  expect(lines.join('\n')).toContain('api_keys[0].key: is missing');
  expect(lines.join('\n')).toContain('the same secret as in line 26');
  expect(lines.join('\n')).not.toMatch(/sk-a-secret|sk-another|gw-notebook/);
});

test('a file of another version, or none, is refused', () => {
  const findings = createFindings();
  for (const value of [null, { version: 2 }, 'text', []]) {
    const source = { file: 'x.yaml', value, placeOf: () => ({ file: 'x.yaml', line: 1 }) };
    expect(readApplyFile(source, findings, secretsHere({ environment, folder }))).toBeNull();
  }
  expect(findings.faults.length).toBeGreaterThanOrEqual(4);
});

test('a moment that has passed is no fault: the file was right when it was written', () => {
  const findings = createFindings();
  const yaml = `version: 1
api_keys:
  - name: old
    key: { hash: ${'a'.repeat(64)} }
    expires_at: 2020-01-01T00:00:00Z
    usage_limits: { type: cost, credit_limit: 5, periodic_reset: weekly, next_usage_reset_at: "2020-01-06T00:00:00Z" }
`;
  const found = readApplyFile(
    readDocument('old.yaml', yaml, findings)!,
    findings,
    secretsHere({ environment, folder }),
  );

  expect(findings.faults).toEqual([]);
  expect(found!.desired.apiKeys[0]!.fields).toMatchObject({
    expires_at: '2020-01-01T00:00:00Z',
    usage_limits: [{ credit_limit: 5, next_usage_reset_at: '2020-01-06T00:00:00Z' }],
  });
});

test('credentials in configs are references, too, and parameters of models are left as they are', () => {
  const read = (api_key: string) => {
    const findings = createFindings();
    const yaml = `version: 1
configs:
  - slug: inline
    config:
      strategy: { mode: fallback }
      targets:
        - { provider: openai, api_key: ${api_key}, override_params: { stop_token: x, only: { file: y } } }
`;
    const found = readApplyFile(
      readDocument('c.yaml', yaml, findings)!,
      findings,
      secretsHere({ environment, folder }),
    );
    return { found, lines: findingLines(findings.faults) };
  };

  expect(read('sk-in-the-file').lines).toEqual([
    'c.yaml:7: configs[0].config.targets[0].api_key: give {env: NAME} or {file: path}; a secret itself does not belong in this file',
  ]);
  expect(read('{ env: APPLY_PROVIDER_KEY }').found!.desired.configs[0]!.config).toMatchObject({
    targets: [{ api_key: 'sk-provider', override_params: { stop_token: 'x', only: { file: 'y' } } }],
  });
});

test('what may not be brought along is checked by name, and a file that is silent about the organisation says nothing', () => {
  const findings = createFindings();
  const read = (yaml: string) =>
    readApplyFile(
      readDocument('r.yaml', `version: 1\n${yaml}`, findings)!,
      findings,
      secretsHere({ environment, folder }),
    );

  expect(read('organisation: { forbidden: [inline_config, aws_region] }')!.desired.organisation).toMatchObject([
    { fields: { forbidden: ['inline_config', 'aws_region'] } },
  ]);
  expect(read('organisation: { forbidden: [] }')!.desired.organisation[0]!.fields).toEqual({ forbidden: null });
  expect(read('workspaces: []')!.desired.organisation).toEqual([]);
  expect(findings.faults).toEqual([]);
  read('organisation:\n  forbidden: [retries]');
  expect(findingLines(findings.faults)[0]).toContain('organisation.forbidden[0]: is nothing that can be forbidden');
});
