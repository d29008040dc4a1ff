import { afterAll, beforeAll, expect, test } from 'bun:test';
import { askingPath } from '../mcp/oauth.ts';
import { PASSWORD, signIn } from '../people.ts';
import { query } from '../state-tables.ts';
import { NARROW, startConsole, type TestConsole, WIDE } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

const pathOf = (link: string) => link.slice(link.indexOf('/console'));

test('an invited person chooses a password, and is in', async () => {
  const { json } = await console.gateway.api.post('/v1/admin/users/invites', {
    email: 'ines@example.com',
    role: 'member',
  });
  const { tab, faults, axe, shot, close } = await console.open(pathOf(json.invite_link), { as: null, size: NARROW });
  await tab.getByLabel('First name').fill('Ines');
  expect(tab.url()).not.toContain('invite=');
  expect(await axe()).toEqual([]);
  await shot('invited-narrow');
  await tab.getByLabel('Password').fill(PASSWORD);
  await tab.getByRole('button', { name: 'Join' }).click();
  await tab.getByRole('button', { name: 'Account of Ines' }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('the link of the first start makes the owner once, and then no one', async () => {
  await query(console.gateway, "update users set role = 'admin' where role = 'owner'");
  const link = (await console.gateway.ownerLink())!;
  const first = await console.open(pathOf(link), { as: null });
  await first.tab.getByLabel('Email').fill('first@example.com');
  await first.tab.getByLabel('Password').fill(PASSWORD);
  await first.shot('welcome-light');
  await first.tab.getByRole('button', { name: 'Begin' }).click();
  await first.tab.getByRole('button', { name: 'Account of first@example.com' }).waitFor();
  expect(first.faults).toEqual([]);
  await first.close();

  expect(await console.gateway.ownerLink()).toBeNull();
  const second = await console.open(pathOf(link), { as: null });
  await second.tab.getByLabel('Email').fill('second@example.com');
  await second.tab.getByLabel('Password').fill(PASSWORD);
  await second.tab.getByRole('button', { name: 'Begin' }).click();
  await second.tab.getByRole('alert').filter({ hasText: 'older than 15 minutes' }).waitFor();
  await second.close();
});

test('a user ends another session of theirs, and changes the password', async () => {
  const elsewhere = await signIn(console.gateway, 'mia@example.com');
  const { tab, faults, axe, shot, close } = await console.open('/console/account', { as: 'member' });
  await tab.getByRole('button', { name: 'End' }).first().waitFor();
  expect(await axe()).toEqual([]);
  await shot('account-light');
  await tab.getByRole('button', { name: 'End' }).first().click();
  await tab.getByText('The session has ended.').first().waitFor();
  expect((await elsewhere.call('GET', '/v1/sessions/current')).status).toBe(401);
  await tab.getByLabel('Present password').fill(PASSWORD);
  await tab.getByLabel('New password').fill('a longer password');
  await tab.getByRole('button', { name: 'Change the password' }).click();
  await tab.getByText('Your password is changed.').first().waitFor();
  expect((await signIn(console.gateway, 'mia@example.com', 'a longer password')).signedIn.status).toBe(200);
  expect(faults).toEqual([]);
  await close();
});

test('the pages of OAuth look like the console, light and dark, without a script', async () => {
  const made = await console.gateway.api.post('/v1/mcp-servers', {
    ...{ name: 'Weather', slug: 'weather', url: `${console.gateway.url}/mcp` },
    auth_type: 'oauth_auto',
  });
  expect(made.status).toBe(200);
  for (const [theme, size, name] of [
    ['light', WIDE, 'light'],
    ['dark', NARROW, 'dark-narrow'],
  ] as const) {
    const { tab, faults, axe, shot, close } = await console.open('/connect/weather', { as: null, theme, size });
    await tab.getByRole('heading', { name: 'Sign in to the gateway' }).waitFor();
    expect(await axe()).toEqual([]);
    await shot(`connect-sign-in-${name}`);
    await tab.getByLabel('Email').fill('adam@example.com');
    await tab.getByLabel('Password').fill('wrong');
    await tab.keyboard.press('Enter');
    await tab.getByRole('alert').waitFor();
    await tab.getByLabel('Password').fill(PASSWORD);
    await tab.keyboard.press('Enter');
    await tab.getByRole('button', { name: 'Connect' }).waitFor();
    expect(await axe()).toEqual([]);
    await shot(`connect-${name}`);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width);

    // The same person is asked for consent by an application.
    await tab.goto(console.gateway.url + (await askingPath(console.gateway)));
    await tab.getByRole('button', { name: 'Allow' }).waitFor();
    expect(await axe()).toEqual([]);
    await shot(`consent-${name}`);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(size.width);
    expect(faults).toEqual([]);
    await close();
  }
});
