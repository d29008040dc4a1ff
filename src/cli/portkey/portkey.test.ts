import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createFindings, findingLines } from '../../desired/reading/findings.ts';
import { readDocument, readSource, type Source } from '../../desired/reading/source.ts';
import { readPortkey } from './portkey.ts';

const folder = join(import.meta.dir, '../../../test/fixtures/portkey');
const environment = { PORTKEY_OPENAI: 'sk-openai', PORTKEY_AWS_ID: 'AKIAIOSFODNN7EXAMPLE', PORTKEY_AWS_SECRET: 'aws' };

async function readIn(source: Source, skipsFaults = false) {
  const options = { workspace: 'default', skipsFaults, virtualKeysOnly: false };
  const file = { source, environment, folder, fallback: 'export' };
  const { desired, findings } = await readPortkey(file, { trustedCustomHosts: [] }, options);
  return { ...desired, findings };
}
const read = (file: string, skipsFaults = false) =>
  readIn(readSource(join(folder, file), createFindings())!, skipsFaults);
const readText = (value: object, skipsFaults = false) =>
  readIn(readDocument('export.json', JSON.stringify(value, null, 1), createFindings())!, skipsFaults);

test('virtual keys keep their slugs and limits, and get their secrets from where they are kept', async () => {
  const { virtualKeys, findings } = await read('export.json');

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

test('configs are taken as they are, also when they are written as text', async () => {
  const { configs } = await read('export.json');

  expect(configs[0]).toMatchObject({ slug: 'pc-fallb-1a2b3c', config: { strategy: { mode: 'fallback' } } });
  expect(configs[1]).toMatchObject({ slug: 'as-text', config: { virtual_key: 'openai-prod-3f9a' } });
});

test('credentials inside configs become virtual keys, one for each, and the configs name them', async () => {
  const azure = { provider: 'azure-openai', api_key: 'k-azure', resource_name: 'mine', api_version: '2024-10-21' };
  const openai = { provider: 'openai', api_key: 'sk-inside' };
  const nested = { strategy: { mode: 'fallback' }, targets: [azure, { ...openai, weight: 2 }] };
  const { configs, virtualKeys, findings } = await readText([
    { slug: 'pc-a', config: { strategy: { mode: 'loadbalance' }, targets: [openai, nested], retry: { attempts: 1 } } },
    { slug: 'pc-b', config: { ...openai, custom_host: 'https://models.example.com/v1' } },
  ]);

  expect(findings.faults).toEqual([]);
  expect(virtualKeys).toMatchObject([
    { slug: 'pc-a-openai', key: 'sk-inside', fields: { provider: 'openai', custom_host: null } },
    {
      slug: 'pc-a-azure-openai',
      key: 'k-azure',
      fields: { configurations: { azure_resource_name: 'mine', azure_api_version: '2024-10-21' } },
    },
    { slug: 'pc-b-openai', fields: { custom_host: 'https://models.example.com/v1' } },
  ]);
  expect(configs.map(({ config }) => config)).toEqual([
    {
      strategy: { mode: 'loadbalance' },
      retry: { attempts: 1 },
      targets: [
        { virtual_key: 'pc-a-openai' },
        {
          strategy: { mode: 'fallback' },
          targets: [{ virtual_key: 'pc-a-azure-openai' }, { virtual_key: 'pc-a-openai', weight: 2 }],
        },
      ],
    },
    { virtual_key: 'pc-b-openai' },
  ]);
});

test('what has no counterpart is said', async () => {
  expect(findingLines((await read('export.json')).findings.leftOut)).toEqual([
    'export.json:11: virtual key OpenAI production: secret_mappings has no counterpart',
  ]);
});

test('every fault is listed with its line, and no secret with it', async () => {
  const lines = findingLines((await read('faulty.json')).findings.faults);

  expect(lines).toEqual([
    'faulty.json:3: virtual_keys[0].key: give env:NAME or file:PATH; a secret itself does not belong in this file',
    'faulty.json:4: virtual_keys[1].key: is missing: give env:NAME or file:PATH, where the credential is kept',
    expect.stringMatching(/^faulty\.json:5: virtual key stranger: .*no-such-provider/),
    'faulty.json:11: configs[0].config.strategy.mode: give "single", "fallback", "loadbalance" or "conditional"',
    'faulty.json:12: configs[0].config.targets[1].unheard_of: is not known here',
  ]);
});

test('with the faults skipped the rest is taken, without what needs a part that was skipped', async () => {
  const good = { provider: 'openai', api_key: 'sk-good' };
  const bad = { provider: 'openai', api_key: 'sk-bad', unheard_of: true };
  const { configs, virtualKeys, findings } = await readText(
    {
      virtual_keys: [
        { name: 'Right', slug: 'right', provider: 'openai', key: 'env:PORTKEY_OPENAI' },
        { name: 'Wrong', slug: 'wrong', provider: 'openai', key: 'sk-literal' },
        { name: 'Nowhere', slug: 'nowhere', provider: 'no-such-provider', key: 'env:PORTKEY_OPENAI' },
      ],
      configs: [
        { slug: 'a', config: { virtual_key: 'right' } },
        { slug: 'b', config: { virtual_key: 'wrong' } },
        { slug: 'c', config: { strategy: { mode: 'fallback' }, targets: [good, { provider: '@nowhere' }] } },
        { slug: 'd', config: bad },
        { slug: 'e', config: { virtual_key: 'made-before' } },
      ],
    },
    true,
  );

  expect(findings.faults).toEqual([]);
  expect(configs.map(({ slug }) => slug)).toEqual(['a', 'e']);
  expect(virtualKeys.map(({ slug }) => slug)).toEqual(['right']);
  const skipped = findingLines(findings.skipped).join('\n');
  expect(skipped).toContain('config b: its virtual key wrong is not taken over');
  expect(skipped).toContain('config c: its virtual key nowhere is not taken over');
  expect(skipped).not.toMatch(/sk-good|sk-bad|sk-literal/);
});
