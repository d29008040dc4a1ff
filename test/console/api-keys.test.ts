import { afterAll, beforeAll, expect, test } from 'bun:test';
import { client } from '../gateway.ts';
import { PASSWORD } from '../people.ts';
import { NARROW, startConsole, type TestConsole, typeAtOnce } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

test('a visitor signs in and comes to the page that was asked for', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/api-keys', { as: null });
  await tab.getByRole('heading', { name: 'Sign in to Gateway' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('sign-in-light');
  await tab.getByLabel('Email').fill('olga@example.com');
  await tab.getByLabel('Password').fill('not the password');
  await tab.keyboard.press('Enter');
  await tab.getByRole('alert').waitFor();
  await tab.getByLabel('Password').fill(PASSWORD);
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'API keys' }).waitFor();
  expect(new URL(tab.url()).pathname).toBe('/console/api-keys');
  expect(faults).toEqual([]);
  await close();
});

test('an owner makes a key that works, gives it a new secret, and deletes it by its name', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/api-keys');
  await tab.getByRole('heading', { name: 'No keys yet' }).or(tab.getByRole('table')).first().waitFor();
  await shot('api-keys-empty');
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('checkout');
  await tab.getByLabel('Provider').selectOption('demo');
  await tab.getByLabel('Requests').fill('100');
  expect(await axe()).toEqual([]);
  await shot('api-keys-create');
  await tab.getByRole('button', { name: 'Create the key' }).click();
  const secret = await tab.locator('.secret-line code').innerText();
  await shot('api-keys-secret');
  const call = client(console.gateway.url);
  const said = await call.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] },
    { key: secret },
  );
  expect(said.status).toBe(200);
  await tab.getByRole('button', { name: 'I have copied it' }).click();

  const row = tab.getByRole('row').filter({ hasText: 'checkout' });
  await row.waitFor();
  expect(await axe()).toEqual([]);
  await shot('api-keys-light');
  for (let row = (await tab.getByRole('row').count()) - 1; row > 0; row--) await tab.keyboard.press('j');
  await tab.keyboard.press('Enter');
  await tab.getByRole('button', { name: 'New secret' }).click();
  await tab.getByLabel('How long the old secret is still taken').selectOption('0');
  await tab.getByRole('button', { name: 'Make the secret' }).click();
  const renewed = await tab.locator('.secret-line code').innerText();
  expect(renewed).not.toBe(secret);
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await shot('api-keys-panel');

  await tab.getByRole('button', { name: 'Edit' }).click();
  const form = tab.getByRole('dialog', { name: 'Change checkout' });
  expect(await form.getByLabel('Most of limit 1').inputValue()).toBe('100');
  await form.getByLabel('In which time, limit 1').selectOption('rpd');
  await form.getByRole('button', { name: 'Add a rate limit' }).click();
  await form.getByLabel('Most of limit 2').fill('5000');
  await form.getByLabel('Of what, limit 2').selectOption('tokens');
  await form.getByText('What it may do').click();
  await form.getByLabel('models.list').uncheck();
  await form.getByText('What its calls may not bring along').click();
  await form.getByLabel('Another host').check();
  await form.getByLabel('Options of providers').fill('no_such_rule');
  expect(await axe()).toEqual([]);
  await shot('api-keys-edit');
  await form.getByRole('button', { name: 'Save' }).click();
  // What the gateway refuses is said at its field, and nothing is changed.
  await form.getByRole('alert').filter({ hasText: 'forbidden' }).first().waitFor();
  await form.getByLabel('Options of providers').fill('');
  await form.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('The key checkout is changed.').waitFor();
  const { data } = (await console.gateway.api.get('/v1/api-keys')).json;
  const kept = data.find(({ name }: { name: string }) => name === 'checkout');
  expect(kept.rate_limits).toEqual([
    { type: 'requests', unit: 'rpd', value: 100 },
    { type: 'tokens', unit: 'rpm', value: 5000 },
  ]);
  expect(kept.forbidden).toEqual(['custom_host']);
  expect(kept.scopes).toContain('completions.write');
  expect(kept.scopes).not.toContain('models.list');

  await tab.keyboard.press('Escape');
  await tab.getByRole('button', { name: 'New secret' }).waitFor({ state: 'detached' });
  await row.getByRole('button', { name: 'Actions for checkout' }).click();
  await tab.getByRole('menuitem', { name: 'Delete' }).click();
  const sure = tab.getByRole('dialog', { name: 'Delete this key' });
  expect(await sure.getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true);
  await sure.getByLabel('Type checkout to go on').fill('checkout');
  await sure.getByRole('button', { name: 'Delete' }).click();
  await row.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await close();
});

test('what is typed faster than a page redraws is all there, in a list and in a filter of calls', async () => {
  await console.gateway.given.apiKey({ name: 'ledger' });
  const { tab, faults, close } = await console.open('/console/api-keys');
  const find = tab.getByLabel('Filter keys');
  await typeAtOnce(find, 'ledger');
  expect(await find.inputValue()).toBe('ledger');
  await tab.waitForURL(/find=ledger/);
  await tab.goto(`${console.gateway.url}/console/overview?range=24h`);
  const filter = tab.getByLabel('Filter calls');
  await typeAtOnce(filter, 'model:gpt-4o\n status:429');
  await tab.waitForURL(/filter=model/);
  expect(await filter.inputValue()).toBe('model:gpt-4o status:429');
  expect(faults).toEqual([]);
  await close();
});

test('a member finds no page of keys, and typing its address shows why', async () => {
  const { tab, faults, close } = await console.open('/console/api-keys', { as: 'member' });
  await tab.getByRole('heading', { name: 'This page is not open to you' }).waitFor();
  expect(await tab.getByRole('link', { name: 'API keys' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone, the menu opens and the palette finds pages', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/api-keys', { theme: 'dark', size: NARROW });
  await tab.getByRole('heading', { name: 'API keys' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('api-keys-dark-narrow');
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await tab.getByRole('button', { name: 'Menu' }).click();
  await tab.getByRole('dialog').getByRole('link', { name: 'API keys' }).click();
  await tab.keyboard.press('Control+k');
  await tab.getByRole('combobox').fill('sign');
  await tab.getByRole('option', { name: 'Sign out' }).waitFor();
  await shot('palette-dark-narrow');
  await tab.keyboard.press('Enter');
  await tab.getByRole('heading', { name: 'Sign in to Gateway' }).waitFor();
  await shot('sign-in-dark-narrow');
  expect(faults).toEqual([]);
  await close();
});

test('what calls of a key use by themselves is changed, and the secret of a provider may lie in a store', async () => {
  const { api } = console.gateway;
  const checks = [{ id: 'default.wordCount', parameters: { maxWords: 500 } }];
  await api.post('/v1/guardrails', { name: 'Short', slug: 'short', checks });
  const { key } = await console.gateway.given.apiKey({ name: 'by-itself', defaults: { mcp_tools: 'search' } });
  const { tab, faults, axe, shot, close } = await console.open('/console/api-keys');
  await tab.getByRole('button', { name: 'Actions for by-itself' }).click();
  await tab.getByRole('menuitem', { name: 'Edit' }).click();
  await tab.getByText('What its calls use when they say nothing else').click();
  await tab.getByLabel('Provider', { exact: true }).selectOption('sim');
  await tab.getByRole('textbox', { name: 'Metadata' }).fill('team=search');
  await tab.getByRole('textbox', { name: 'Guardrails for requests' }).fill('short');
  expect(await axe()).toEqual([]);
  await shot('api-keys-defaults');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('The key by-itself is changed.').waitFor();
  const listed = (await api.get('/v1/api-keys?page_size=200')).json.data;
  expect(listed.find(({ name }: { name: string }) => name === 'by-itself').defaults).toEqual({
    virtual_key: 'sim',
    metadata: { team: 'search' },
    input_guardrails: ['short'],
    output_guardrails: [],
    mcp_tools: 'search',
  });
  const said = await api.post(
    '/v1/chat/completions',
    { model: 'm', messages: [{ role: 'user', content: 'a' }] },
    { key },
  );
  expect(said.status).toBe(200);
  await tab.getByRole('row').filter({ hasText: 'by-itself' }).click();
  await tab.getByText('the provider sim; metadata team=search; guardrails for requests: short').waitFor();

  await tab.goto(`${console.gateway.url}/console/providers`);
  await tab.getByRole('button', { name: 'Add a provider' }).first().click();
  await tab.getByRole('button', { name: 'It lies in a secret store' }).click();
  await tab.getByLabel('Reference').fill('vault:team/openai#key');
  await tab.getByText('Client certificate', { exact: true }).click();
  await tab.getByLabel('Authorities').waitFor();
  expect(await axe()).toEqual([]);
  await shot('providers-reference');
  await tab.getByRole('button', { name: 'Add it' }).click();
  await tab.locator('.field-error').filter({ hasText: 'there is no secret store' }).first().waitFor();
  expect(faults).toEqual([]);
  await close();
});
