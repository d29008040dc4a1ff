import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startListener } from '../alerting.ts';
import { serve } from '../gateway.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';

let console: TestConsole;
let listener: ReturnType<typeof startListener>;
let failing: ReturnType<typeof serve>;
beforeAll(async () => {
  listener = startListener();
  failing = serve(() => Response.json({ error: { message: 'on fire' } }, { status: 500 }));
  console = await startConsole({ environment: { TRUSTED_CUSTOM_HOSTS: '127.0.0.1', GATEWAY_ALERTS_SECONDS: '1' } });
});
afterAll(async () => {
  listener.stop();
  failing.stop();
  await console.stop();
});

test('an owner makes a channel, tries it, makes an alert, and sees it fire', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/alerts?tab=channels');
  await tab.getByRole('heading', { name: 'No channels yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByRole('button', { name: 'Webhook' }).click();
  await tab.getByLabel('Name').fill('Ops');
  await tab.getByLabel('Address').fill(listener.url);
  expect(await axe()).toEqual([]);
  await shot('alerts-channel');
  await tab.getByRole('button', { name: 'Create the channel' }).click();
  expect(await tab.locator('.secret-line code').innerText()).toStartWith('whsec_');
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await tab.getByRole('button', { name: 'Send a test' }).click();
  await tab.getByText('The test has arrived.').waitFor();
  expect(listener.events.map(({ type }) => type)).toContain('alert.test');
  expect(await axe()).toEqual([]);

  await tab.keyboard.press('Escape');
  await tab.getByRole('tab', { name: 'Alerts' }).click();
  await tab.getByRole('heading', { name: 'Nothing is watched yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('Calls fail');
  await tab.getByLabel('Tell when').selectOption('error_rate');
  await tab.getByLabel('From so many calls on').fill('3');
  await tab.getByLabel('Only of model').fill('gone');
  await tab.getByLabel('Ops').check();
  expect(await axe()).toEqual([]);
  await shot('alerts-create');
  await tab.getByRole('button', { name: 'Create the alert' }).click();
  await tab.getByText('It has told nothing in the last 90 days.').waitFor();
  const body = { model: 'gone', messages: [{ role: 'user', content: 'Hello' }] };
  const headers = {
    ...{ 'x-gateway-provider': 'openai', authorization: 'Bearer sk-none' },
    'x-gateway-custom-host': failing.origin,
  };
  for (let call = 0; call < 4; call++) await console.gateway.api.post('/v1/chat/completions', body, { headers });
  const alerts = async () => (await console.gateway.api.get('/v1/alerts')).json.data;
  await eventually('it fires', async () => (await alerts())[0].status === 'firing');
  await tab.reload();
  await tab.getByRole('heading', { name: 'Holds now' }).waitFor();
  await tab.getByText('began').waitFor();
  expect(await axe()).toEqual([]);
  await shot('alerts-firing');
  await tab.getByRole('button', { name: 'Delete' }).click();
  await tab.getByLabel('Type Calls fail to go on').fill('Calls fail');
  await tab.getByRole('dialog', { name: 'Delete this alert' }).getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('heading', { name: 'Nothing is watched yet' }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('an owner reads the audit log, and its badge finds a record that was altered', async () => {
  const { gateway } = console;
  await gateway.api.post('/v1/api-keys', { name: '<img src=x onerror=alert(1)>' });
  await gateway.api.delete('/v1/api-keys/00000000-0000-7000-8000-000000000000');
  const { tab, faults, axe, shot, close } = await console.open('/console/audit');
  await tab.getByText(/whole: \d+ records verified/).waitFor();
  await tab.getByLabel('Of what').selectOption('api_keys');
  await tab.getByText('refused 404').waitFor();
  expect(await axe()).toEqual([]);
  await shot('audit-light');
  await tab.getByRole('row').filter({ hasText: 'create' }).click();
  await tab.getByText('<img src=x onerror=alert(1)>').waitFor();
  expect(await axe()).toEqual([]);
  await shot('audit-record');
  await tab.keyboard.press('Escape');
  await tab.getByRole('button', { name: 'Only theirs' }).waitFor({ state: 'detached' });
  const file = tab.waitForEvent('download');
  await tab.getByRole('link', { name: 'Export' }).click();
  expect((await file).suggestedFilename()).toBe('audit-log.jsonl');

  await query(gateway, "update audit_records set uri = '/v1/forged' where batch = 1");
  await tab.getByRole('button', { name: /records verified/ }).click();
  await tab.getByRole('button', { name: 'Verify again' }).click();
  await tab.getByText('the chain does not hold').waitFor();
  await shot('audit-broken');
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone these pages fit; a member sees no audit log', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/alerts', { theme: 'dark', size: NARROW });
  for (const path of ['alerts', 'audit']) {
    if (path !== 'alerts') await tab.goto(`${console.gateway.url}/console/${path}`);
    await tab.getByRole('heading', { level: 1 }).waitFor();
    await tab.waitForLoadState('networkidle');
    expect(await axe()).toEqual([]);
    await shot(`${path}-dark-narrow`);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  }
  expect(faults).toEqual([]);
  await close();
  const member = await console.open('/console/audit', { as: 'member' });
  await member.tab.getByRole('heading', { name: 'This page is not open to you' }).waitFor();
  await member.close();
});

test('an owner decides for every workspace: what calls may not bring, guardrails, machines, prices', async () => {
  const { api } = console.gateway;
  const { id } = (await api.get('/v1/admin/organisation')).json;
  const checks = [{ id: 'default.notNull', parameters: {} }];
  await api.post('/v1/guardrails', { name: 'Never empty', checks, organisation_id: id });
  const { tab, faults, axe, shot, close } = await console.open('/console/organisation');
  await tab.getByRole('checkbox', { name: /A config that is written into the call/ }).check();
  await tab.getByLabel('Options of providers').fill('aws_region\nno_such_option');
  expect(await axe()).toEqual([]);
  await shot('organisation-calls');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.locator('.field-error').waitFor();
  await tab.getByLabel('Options of providers').fill('aws_region');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('Saved. Calls go by it from now on.').first().waitFor();
  expect((await api.get('/v1/admin/organisation')).json.forbidden).toEqual(['inline_config', 'aws_region']);

  await tab.getByRole('tab', { name: 'Guardrails' }).click();
  await tab.getByRole('switch', { name: /Never empty looks at every request/ }).click();
  await tab.getByText('Saved. Calls meet it from now on.').first().waitFor();
  expect((await api.get('/v1/admin/organisation/defaults')).json.input_guardrails).toEqual(['never-empty']);
  expect(await axe()).toEqual([]);
  await shot('organisation-guardrails');

  await tab.getByRole('tab', { name: 'Machines' }).click();
  await tab.getByRole('button', { name: 'Trust an issuer' }).click();
  await tab.getByLabel('Address of its keys').fill(`${failing.origin}/keys`);
  await tab.getByRole('textbox', { name: /^Issuer/ }).fill('https://login.example.com');
  expect(await axe()).toEqual([]);
  await shot('organisation-machines');
  await tab.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await tab.getByText('https://login.example.com').first().waitFor();
  await tab.getByRole('button', { name: 'Let no machine in' }).click();
  await tab.getByLabel('Type https://login.example.com to go on').fill('https://login.example.com');
  await tab.getByRole('button', { name: 'Let none in' }).click();
  await tab.getByRole('heading', { name: 'No token lets a machine in', exact: true }).waitFor();

  await tab.getByRole('tab', { name: 'Prices' }).click();
  await tab.getByRole('button', { name: 'Take over a list' }).click();
  const list = { as_of: '2026-11-16', prices: { openai: { 'my-model': { input: 1, output: 2 } } } };
  await tab
    .getByLabel('File')
    .setInputFiles({ name: 'prices.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(list)) });
  await tab.getByRole('button', { name: 'Take it over' }).click();
  await tab.getByText('The list is in force on every node.').first().waitFor();
  await tab.getByText('2026-11-16').waitFor();
  expect(await axe()).toEqual([]);
  await shot('organisation-prices');
  await tab.getByRole('button', { name: 'Do without it' }).click();
  await tab.getByLabel('Type prices.json to go on').fill('prices.json');
  await tab.getByRole('dialog').getByRole('button', { name: 'Do without it' }).click();
  await tab.getByText('The list that came with this version').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('an owner says what groups of a directory mean, registers an application, and gives programs settings', async () => {
  const { api } = console.gateway;
  const { tab, faults, axe, shot, close } = await console.open('/console/organisation?tab=directory');
  await tab.getByRole('heading', { name: 'No group means anything yet' }).waitFor();
  await tab.getByRole('button', { name: 'Give a group a role' }).click();
  await tab.getByRole('textbox', { name: 'Group' }).fill('ml-engineers');
  await tab.getByLabel('Where', { exact: true }).selectOption('default');
  await tab.getByLabel('Role', { exact: true }).selectOption('manager');
  expect(await axe()).toEqual([]);
  await shot('organisation-directory-add');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByRole('row').filter({ hasText: 'ml-engineers' }).filter({ hasText: 'manager' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('organisation-directory');
  await tab.getByRole('button', { name: 'Take the role from ml-engineers' }).click();
  await tab.getByLabel('Type ml-engineers to go on').fill('ml-engineers');
  await tab.getByRole('button', { name: 'Take it' }).click();
  await tab.getByRole('heading', { name: 'No group means anything yet' }).waitFor();

  await tab.getByRole('tab', { name: 'Applications' }).click();
  await tab.getByRole('button', { name: 'Register an application' }).click();
  await tab.getByRole('textbox', { name: 'Name' }).fill('Travel desk');
  await tab.getByLabel('Addresses it may be led back to').fill('https://travel.example.com/callback');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'Register it' }).click();
  await tab.getByText('Copy the secret now').waitFor();
  expect(await axe()).toEqual([]);
  await shot('organisation-app-made');
  await tab.getByRole('button', { name: 'Done' }).click();
  await tab.getByRole('row').filter({ hasText: 'Travel desk' }).waitFor();
  await tab.getByRole('button', { name: 'Actions for Travel desk' }).click();
  await tab.getByRole('menuitem', { name: 'Give it a new secret' }).click();
  await tab.getByRole('button', { name: 'Give it a new secret' }).click();
  await tab.getByText('Copy the secret now').waitFor();
  await tab.getByRole('button', { name: 'Done' }).click();
  await shot('organisation-apps');

  await tab.getByRole('tab', { name: 'Programs' }).click();
  await tab.getByRole('textbox', { name: 'Claude Code' }).fill('{ "model": ');
  await tab.getByText('This is no JSON object').waitFor();
  expect(await tab.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  await tab.getByRole('textbox', { name: 'Claude Code' }).fill('{ "model": "sonnet" }');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('Saved. Programs get it when they ask next.').waitFor();
  expect((await api.get('/v1/admin/organisation/managed-settings')).json.settings).toEqual({ model: 'sonnet' });
  expect(await axe()).toEqual([]);
  await shot('organisation-programs');
  expect(faults).toEqual([]);
  await close();
  const narrow = await console.open('/console/organisation?tab=apps', { theme: 'dark', size: NARROW });
  await narrow.tab.getByRole('row').filter({ hasText: 'Travel desk' }).waitFor();
  expect(await narrow.axe()).toEqual([]);
  expect(await narrow.tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await narrow.shot('organisation-dark-narrow');
  await narrow.close();
});

test('a webhook is made with a secret that is shown once, changed, rotated and deleted by its name; a member only looks', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/webhooks', { as: 'admin' });
  await tab.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('pipeline');
  await tab.getByLabel('Address').fill(listener.url);
  await tab.getByLabel('A batch was cancelled').uncheck();
  expect(await axe()).toEqual([]);
  await shot('webhooks-create');
  await tab.getByRole('button', { name: 'Create the webhook' }).click();
  expect(await tab.locator('.secret-line code').innerText()).toStartWith('whsec_');
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await tab.getByRole('row').filter({ hasText: 'pipeline' }).click();
  await tab.getByRole('button', { name: 'New secret' }).click();
  expect(await tab.locator('.secret-line code').innerText()).toStartWith('whsec_');
  await tab.getByRole('button', { name: 'Edit' }).click();
  await tab.getByLabel('Name').fill('night pipeline');
  await tab.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await tab.getByText('It is saved.').first().waitFor();
  expect(await axe()).toEqual([]);
  await shot('webhooks-panel');
  const [webhook] = (await console.gateway.api.get('/v1/webhooks')).json.data;
  expect([webhook.name, webhook.events.length]).toEqual(['night pipeline', 6]);

  const member = await console.open('/console/webhooks', { as: 'member', theme: 'dark', size: NARROW });
  await member.tab.getByRole('row').filter({ hasText: 'night pipeline' }).click();
  await member.tab.getByText('batch.completed').waitFor();
  expect(await member.tab.getByRole('button', { name: /Create|Edit|Delete|New secret/ }).count()).toBe(0);
  expect(await member.tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await member.shot('webhooks-member-dark-narrow');
  await member.close();

  await tab.getByRole('button', { name: 'Delete' }).click();
  await tab.getByLabel('Type night pipeline to go on').fill('night pipeline');
  await tab.getByRole('dialog', { name: 'Delete this webhook' }).getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
  expect(faults).toEqual([]);
  await close();
});
