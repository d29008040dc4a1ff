import { afterAll, beforeAll, expect, test } from 'bun:test';
import { givenUser } from '../people.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';
import { walkAsAdmin } from './walks.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

const chat = async (headers: Record<string, string>, key?: string) => {
  const body = { model: 'demo', messages: [{ role: 'user', content: 'Where is my parcel?' }] };
  const said = await console.gateway.api.post('/v1/chat/completions', body, {
    headers: { 'x-gateway-virtual-key': 'demo', ...headers },
    ...(key && { key }),
  });
  return said.status;
};

test('an owner invites someone by a link that is shown once, changes a role, and removes a person by name', async () => {
  for (const [first_name, last_name] of [
    ['Noor', 'Haddad'],
    ['Tomas', 'Rivera'],
    ['Ines', 'Keller'],
  ])
    await givenUser(console.gateway, { email: `${first_name!.toLowerCase()}@example.com`, first_name, last_name });
  const { tab, faults, axe, shot, close } = await console.open('/console/users');
  await tab.getByRole('row').filter({ hasText: 'noor@example.com' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('users-light');
  await tab.keyboard.press('c');
  await tab.getByLabel('Email').fill('bob@example.com');
  await shot('users-invite');
  await tab.getByRole('button', { name: 'Make the link' }).click();
  expect(await tab.locator('.secret-line code').innerText()).toContain('#');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'I have copied it' }).click();
  await tab.getByRole('tab', { name: 'Invites (1)' }).click();
  const invite = tab.getByRole('row').filter({ hasText: 'bob@example.com' });
  await invite.getByRole('button', { name: 'Actions for bob@example.com' }).click();
  await tab.getByRole('menuitem', { name: 'Cancel' }).click();
  await tab.getByLabel('Type bob@example.com to go on').fill('bob@example.com');
  await tab.getByRole('button', { name: 'Cancel the invite' }).click();
  await invite.getByText('cancelled').waitFor();

  await tab.getByRole('tab', { name: 'Users' }).click();
  await tab.getByRole('row').filter({ hasText: 'ines@example.com' }).click();
  await tab.getByLabel('Role').selectOption('admin');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByRole('row').filter({ hasText: 'ines@example.com' }).getByText('admin').waitFor();
  await shot('users-panel');
  await tab.getByRole('button', { name: 'Remove' }).click();
  await tab.getByLabel('Type ines@example.com to go on').fill('ines@example.com');
  await tab.getByRole('dialog', { name: 'Remove Ines Keller' }).getByRole('button', { name: 'Remove' }).click();
  await tab.getByRole('row').filter({ hasText: 'ines@example.com' }).waitFor({ state: 'detached' });

  await tab.keyboard.press('g');
  await tab.keyboard.press('w');
  await tab.getByRole('heading', { name: 'Workspaces' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('Research');
  await tab.getByLabel('Budget in dollars a month').fill('200');
  await tab.getByRole('button', { name: 'Create the workspace' }).click();
  await tab.getByRole('row').filter({ hasText: 'Research' }).click();
  await tab.getByLabel('Who is added').selectOption({ label: 'noor@example.com' });
  await tab.getByLabel('As what').selectOption('manager');
  await tab.getByRole('button', { name: 'Add' }).click();
  await tab.getByLabel('Role of Noor Haddad').waitFor();
  expect(await axe()).toEqual([]);
  await shot('workspaces-panel');
  await tab.getByRole('button', { name: 'Delete', exact: true }).click();
  await tab.getByLabel('Type research to go on').fill('research');
  await tab.getByRole('button', { name: 'Delete the workspace' }).click();
  await tab.getByRole('heading', { name: 'Research is deleted' }).waitFor();
  await tab.getByRole('button', { name: 'Close' }).last().click();
  expect(faults).toEqual([]);
  await close();
});

test('an owner gives each team a budget and sees who is near it', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/limits');
  await tab.getByRole('heading', { name: 'Nobody has a budget yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('team budget');
  await tab.getByLabel('Each may').fill('12');
  await tab.getByLabel('Of what').selectOption('requests');
  await tab.getByLabel('Counted by').selectOption('other');
  await tab.getByLabel('Keys').fill('metadata.team');
  await tab.getByLabel('Key of condition 1').fill('metadata.team');
  expect(await axe()).toEqual([]);
  await shot('limits-create');
  await tab.getByRole('button', { name: 'Create the policy' }).click();
  await tab.getByText('Nobody has called yet.').waitFor();
  for (const [team, calls] of [
    ['search', 12],
    ['support', 10],
    ['billing', 4],
  ] as const)
    for (let call = 0; call < calls; call++)
      expect(await chat({ 'x-gateway-metadata': JSON.stringify({ team }) })).toBe(200);
  expect(await chat({ 'x-gateway-metadata': '{"team":"search"}' })).toBe(412);
  await tab.reload();
  await tab.getByRole('tab', { name: 'Near their limit' }).click();
  const bars = tab.locator('.limits-bars li');
  await bars.filter({ hasText: 'search' }).getByText('100 %').waitFor();
  expect(await bars.first().innerText()).toContain('search');
  expect(await axe()).toEqual([]);
  await shot('limits-near');
  await bars.filter({ hasText: 'search' }).getByRole('button', { name: 'team budget' }).click();
  await tab.getByRole('button', { name: 'Let search begin anew' }).click();
  await tab.getByText('0 of 12 requests', { exact: true }).waitFor();
  expect(await chat({ 'x-gateway-metadata': '{"team":"search"}' })).toBe(200);
  await shot('limits-policy');
  await tab.getByRole('button', { name: 'Edit' }).click();
  await tab.getByLabel('Each may').fill('40');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('40 requests a month').first().waitFor();
  await tab.getByRole('button', { name: 'Delete' }).click();
  await tab.getByLabel('Type team budget to go on').fill('team budget');
  await tab.getByRole('dialog', { name: 'Delete this policy' }).getByRole('button', { name: 'Delete' }).click();
  await tab.getByRole('heading', { name: 'No policies yet' }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone these pages fit', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/users', { theme: 'dark', size: NARROW });
  for (const path of ['users', 'workspaces', 'limits']) {
    if (path !== 'users') await tab.goto(`${console.gateway.url}/console/${path}`);
    await tab.getByRole('heading', { level: 1 }).waitFor();
    await tab.waitForLoadState('networkidle');
    expect(await axe()).toEqual([]);
    await shot(`${path}-dark-narrow`);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  }
  expect(faults).toEqual([]);
  await close();
});

/** With axe on each of them in `test/long/console.test.ts`; in the short form every page has that in the file of its area. */
test('a workspace admin opens every page of theirs, and none fails or shows what is refused', async () => {
  await walkAsAdmin(console);
});
