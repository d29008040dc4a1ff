import { afterAll, beforeAll, expect, test } from 'bun:test';
import { client } from '../gateway.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

test('an owner adds a provider that is tested, makes a call, and invites someone, from Home', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console');
  await tab.getByText('Make a call').waitFor();
  expect(await axe()).toEqual([]);
  await shot('home-light');
  await tab.getByRole('button', { name: /Make a call/ }).click();
  await tab.getByLabel('Provider').selectOption('demo');
  await tab.getByRole('button', { name: 'Send' }).click();
  await tab.locator('.note-good').waitFor();
  await shot('home-call');
  await tab.getByRole('button', { name: /Invite someone/ }).click();
  await tab.getByLabel('Email').fill('neu@example.com');
  await tab.getByRole('button', { name: 'Make the link' }).click();
  expect(await tab.locator('.secret-line code').innerText()).toContain('/console/#invite=');

  await tab.goto(`${console.gateway.url}/console/providers?create=true`);
  await tab.getByLabel('Name').fill('My OpenAI');
  await tab.getByLabel('API key').fill('sk-test');
  await tab.getByLabel('Other host').fill(console.gateway.provider.url);
  expect(await axe()).toEqual([]);
  await shot('provider-add');
  await tab.getByRole('button', { name: 'Add it' }).click();
  await tab.getByText('took the credential').waitFor();
  await shot('provider-tested');
  await tab.getByRole('button', { name: 'Done' }).click();
  await tab.getByRole('row').filter({ hasText: 'My OpenAI' }).waitFor();
  await shot('providers-light');
  await tab.goto(`${console.gateway.url}/console/models`);
  await tab.getByRole('row').filter({ hasText: '@my-openai' }).first().waitFor();
  expect(await axe()).toEqual([]);
  await shot('models-light');
  expect(faults).toEqual([]);
  await close();
});

test('a member gets what a client needs, with their key filled in, dark and on a phone', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console', {
    as: 'member',
    theme: 'dark',
    size: NARROW,
  });
  await tab.getByRole('heading', { name: 'You have no key yet' }).waitFor();
  await tab.getByLabel('Your key').fill('gw-my-key');
  await tab.getByRole('tab', { name: 'Python' }).click();
  expect(await tab.getByRole('tabpanel').innerText()).toContain('api_key="gw-my-key"');
  expect(await tab.getByText('Set it up').count()).toBe(0);
  expect(await axe()).toEqual([]);
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await shot('home-member-dark-narrow');
  expect(faults).toEqual([]);
  await close();
});

test('where the workspace allows it, a member makes a key that works, finds it in the set-up, rotates and deletes it', async () => {
  const admin = await console.open('/console/workspaces', { as: 'admin' });
  await admin.tab.getByRole('row').filter({ hasText: 'default' }).click();
  await admin.tab.getByRole('switch', { name: /Members may make keys/ }).click();
  await admin.tab.getByLabel('Keys of each member').fill('2');
  await admin.tab.getByLabel('Budget of each member in dollars').fill('20');
  expect(await admin.axe()).toEqual([]);
  await admin.tab.getByRole('button', { name: 'Save what members may have' }).scrollIntoViewIfNeeded();
  await admin.shot('workspace-member-keys');
  await admin.tab.getByRole('button', { name: 'Save what members may have' }).click();
  await admin.tab.getByText('It is saved.').first().waitFor();
  expect(admin.faults).toEqual([]);
  await admin.close();

  const { tab, faults, axe, shot, close } = await console.open('/console', { as: 'member' });
  await tab.getByRole('heading', { name: 'You have no key yet' }).waitFor();
  await shot('home-member-empty');
  await tab.getByRole('button', { name: 'Make a key' }).click();
  await tab.getByLabel('Name').fill('laptop');
  await tab.getByLabel('Provider').selectOption('sim');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'Make the key' }).click();
  const secret = await tab.locator('.secret-line code').innerText();
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello' }] };
  const call = (key: string) => client(console.gateway.url).post('/v1/chat/completions', body, { key });
  expect((await call(secret)).status).toBe(200);
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await tab.getByRole('tab', { name: 'curl' }).click();
  expect(await tab.getByRole('tabpanel').innerText()).toContain(secret);
  await tab.getByText('Spent by all of them together').waitFor();
  expect(await axe()).toEqual([]);
  await shot('home-member-keys');
  const act = async (name: string) => {
    await tab.getByRole('button', { name: 'Actions for laptop' }).click();
    await tab.getByRole('menuitem', { name }).click();
  };
  await act('Give it a new secret');
  await tab.getByLabel('How long the old secret is still taken').selectOption('0');
  await tab.getByRole('button', { name: 'Make the secret' }).click();
  const renewed = await tab.locator('.secret-line code').innerText();
  expect([(await call(renewed)).status, (await call(secret)).status]).toEqual([200, 401]);
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await act('Delete');
  await tab.getByLabel('Type laptop to go on').fill('laptop');
  await tab.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('heading', { name: 'You have no key yet' }).waitFor();
  expect((await call(renewed)).status).toBe(401);
  expect(faults).toEqual([]);
  await close();
});
