import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createFindings, findingLines } from '../reading/findings.ts';
import { readSource, type Source } from '../reading/source.ts';
import { readConfig } from './configs.ts';
import { readVirtualKey } from './virtual-keys.ts';

const folder = join(import.meta.dir, '../../../test/fixtures/portkey');
const environment = { PORTKEY_OPENAI: 'sk-openai', PORTKEY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE', PORTKEY_AWS_SECRET: 'aws' };

function read(file: string) {
  const findings = createFindings();
  const source = readSource(join(folder, file), findings) as Source & {
    value: { virtual_keys: unknown[]; configs: unknown[] };
  };
  const reading = { source, findings, workspace: 'default', environment, folder };
  const virtualKeys = source.value.virtual_keys.map((value, index) =>
    readVirtualKey(value, ['virtual_keys', index], reading),
  );
  const configs = source.value.configs.map((value, index) =>
    readConfig(value, ['configs', index], { ...reading, fallback: 'export' }),
  );
  return { virtualKeys, configs, findings };
}

test('virtual keys keep their slugs and limits, and get their secrets from where they are kept', () => {
  const { virtualKeys, findings } = read('export.json');

  expect(findings.faults).toEqual([]);
  expect(virtualKeys[0]).toMatchObject({
    slug: 'openai-prod-3f9a',
    key: 'sk-openai',
    fields: {
      usage_limits: [{ type: 'cost', credit_limit: 100, periodic_reset: 'monthly' }],
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 60 }],
    },
  });
  expect(virtualKeys[1]).toMatchObject({
    slug: 'bedrock',
    key: null,
    fields: {
      configurations: {
        aws_region: 'eu-west-1',
        aws_access_key_id: environment.PORTKEY_AWS_ID,
        aws_secret_access_key: 'aws',
      },
    },
  });
});

test('configs are taken as they are, also when they are written as text', () => {
  const { configs } = read('export.json');

  expect(configs[0]).toMatchObject({ slug: 'pc-fallb-1a2b3c', config: { strategy: { mode: 'fallback' } } });
  expect(configs[1]).toMatchObject({ slug: 'as-text', config: { virtual_key: 'openai-prod-3f9a' } });
});

test('what has no counterpart is said', () => {
  expect(findingLines(read('export.json').findings.leftOut)).toEqual([
    'export.json:11: virtual key OpenAI production: secret_mappings has no counterpart',
  ]);
});

test('every fault is listed with its line, and no secret with it', () => {
  const lines = findingLines(read('faulty.json').findings.faults);

  expect(lines).toEqual([
    'faulty.json:3: virtual_keys[0].key: give env:NAME or file:PATH; a secret itself does not belong in this file',
    'faulty.json:4: virtual_keys[1].key: is missing: give env:NAME or file:PATH, where the credential is kept',
    'faulty.json:11: configs[0].config.strategy.mode: give "single", "fallback", "loadbalance" or "conditional"',
    'faulty.json:12: configs[0].config.targets[1].unheard_of: is not known here',
  ]);
});
