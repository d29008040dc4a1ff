import { afterAll, beforeAll, expect, test } from 'bun:test';
import { NARROW, startConsole, type TestConsole } from './browser.ts';
import { givenPastCalls } from './past-calls.ts';

const CALLS = 2_500;

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
  const keys: string[] = [];
  for (const name of ['checkout', 'support-bot', 'nightly-batch'])
    keys.push((await console.gateway.given.apiKey({ name })).id);
  await givenPastCalls(console, CALLS, keys);
});
afterAll(() => console.stop());

test('an owner sees the figures of a day, zooms in, and opens the calls of a point', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/overview');
  const requests = tab.getByRole('region', { name: 'Requests', exact: true });
  await requests.getByText('before').waitFor();
  await tab.getByRole('list', { name: 'Models' }).getByText('gpt-5', { exact: true }).waitFor();
  await tab.getByRole('region', { name: 'Guardrails over time' }).waitFor();
  expect(new URL(tab.url()).searchParams.get('range')).toBe('24h');
  expect(await axe()).toEqual([]);
  await shot('overview-light');

  const traffic = tab.getByRole('region', { name: 'Traffic over time' });
  const box = (await traffic.boundingBox())!;
  await tab.mouse.move(box.x + box.width * 0.4, box.y + 80);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width * 0.6, box.y + 80, { steps: 4 });
  await tab.mouse.up();
  await tab.waitForURL(/from=\d+&until=\d+/);
  await tab.goBack();
  await tab.waitForURL(/range=24h/);

  // A quarter of an hour for each point of a day: as many as a chart can show.
  const asked = await tab.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => decodeURIComponent(name)).filter((name) => name.includes('graphs/all'))`,
  );
  expect(asked[0]).toContain('bucket_seconds=900');

  await traffic.focus();
  for (let step = 0; step < 3; step++) await tab.keyboard.press('ArrowLeft');
  await traffic.getByRole('status').getByText('answered').waitFor();
  await shot('overview-cursor');
  await tab.keyboard.press('Enter');
  await tab.waitForURL(/\/console\/logs\?.*from=\d+/);
  expect(faults).toEqual([]);
  await close();
});

test('a figure is told apart by two things, filtered, exported, and its rows open the log', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/overview?range=7d&filter=provider:openai');
  await tab.getByRole('link', { name: 'Explore' }).first().waitFor();
  await tab.keyboard.press('g');
  await tab.keyboard.press('x');
  await tab.getByRole('heading', { name: 'Explore' }).waitFor();
  await tab.waitForURL(/\/console\/explore\?.*range=7d.*/);
  expect(new URL(tab.url()).searchParams.get('filter')).toBe('provider:openai');
  await tab.getByLabel('Figure').selectOption('cost');
  await tab.getByLabel('Then by').selectOption('api_key_id');
  const table = tab.getByRole('region', { name: 'Cost by Model' }).getByRole('table');
  await table.getByText('checkout').first().waitFor();
  expect(await axe()).toEqual([]);

  const [file] = await Promise.all([tab.waitForEvent('download'), tab.getByRole('button', { name: 'Export' }).click()]);
  const text = await Bun.file(await file.path()).text();
  expect(text.split('\r\n')[0]).toContain('gpt-5 · checkout');
  expect(text.split('\r\n').at(-1)).toStartWith('all,');

  await tab.getByLabel('Filter calls').fill('provider:openai mod');
  await tab.getByRole('option', { name: 'model:' }).click();
  await tab.getByRole('option', { name: 'gpt-5-mini' }).click();
  await tab.keyboard.press('Enter');
  await tab.waitForURL(/filter=provider[^&]+model[^&]+gpt-5-mini/);
  await table.getByText('gpt-5', { exact: true }).first().waitFor({ state: 'detached' });

  await tab.getByRole('button', { name: 'Empty the filter' }).click();
  await table.getByText('claude-sonnet-4-5').first().waitFor();
  await tab.keyboard.press('b');
  await table.getByRole('columnheader', { name: 'Before' }).waitFor();
  await tab.getByRole('button', { name: 'all, before' }).waitFor();
  await shot('explore-light');
  await tab.getByLabel('Filter calls').fill('colour:red');
  await tab.keyboard.press('Enter');
  await tab.getByRole('alert').getByText('there is no field "colour"').waitFor();
  await tab.getByRole('button', { name: 'Empty the filter' }).click();
  await table.getByText('gpt-5', { exact: true }).first().click();
  await tab.waitForURL(/\/console\/logs/);
  expect(new URL(tab.url()).searchParams.get('filter')).toMatch(/^model:gpt-5 api_key:/);
  expect(faults).toEqual([]);
  await close();
});

test('what is among the others opens the log without what has a row', async () => {
  const { tab, close } = await console.open('/console/explore?range=7d&group=model&limit=3');
  const table = tab.getByRole('region', { name: 'Requests by Model' }).getByRole('table');
  await table.getByText('3 others').click();
  await tab.waitForURL(/\/console\/logs/);
  expect(new URL(tab.url()).searchParams.get('filter')).toMatch(/^-model:[^, ]+,[^, ]+,[^, ]+$/);
  await tab.goBack();
  await table.getByText('All', { exact: true }).click();
  await tab.waitForURL(/\/console\/logs/);
  expect(new URL(tab.url()).searchParams.get('filter')).toBeNull();
  await close();
});

test('a view is saved and shared; an admin of the workspace opens, renames and deletes it', async () => {
  const query = 'range=7d&metric=cost&group=api_key_id&limit=5&filter=provider%3Aopenai';
  const owner = await console.open(`/console/explore?${query}`);
  await owner.tab.getByRole('button', { name: 'Views', exact: true }).click();
  await owner.tab.getByRole('button', { name: 'Save this view' }).click();
  await owner.tab.getByLabel('Name').fill('Spend by key');
  await owner.tab.getByLabel('Share with the workspace').check();
  expect(await owner.axe()).toEqual([]);
  await owner.shot('explore-save-view');
  await owner.tab.getByRole('button', { name: 'Save', exact: true }).click();
  await owner.tab.getByRole('button', { name: 'Spend by key', exact: true }).waitFor();
  expect(owner.faults).toEqual([]);
  await owner.close();

  const { tab, faults, axe, shot, close } = await console.open('/console/explore', {
    as: 'admin',
    theme: 'dark',
    size: NARROW,
  });
  await tab.getByRole('button', { name: 'Views', exact: true }).click();
  const shared = tab.getByRole('region', { name: 'Shared in this workspace' });
  await shared.waitFor();
  expect(await axe()).toEqual([]);
  await shot('explore-views-dark-narrow');
  await shared.getByRole('button', { name: 'Spend by key', exact: true }).click();
  await tab.waitForURL(/metric=cost/);
  const { searchParams } = new URL(tab.url());
  for (const [name, value] of new URLSearchParams(query)) expect([name, searchParams.get(name)]).toEqual([name, value]);
  await tab.getByRole('region', { name: 'Cost by API key' }).first().waitFor();

  // The list of views closes slowly, and its buttons have the same names.
  await tab.getByRole('dialog', { name: 'Saved views' }).waitFor({ state: 'hidden' });
  await tab.getByRole('button', { name: 'Spend by key', exact: true }).click();
  await tab.getByRole('button', { name: 'Change Spend by key' }).click();
  await tab.getByLabel('Name').fill('Spend');
  await tab.getByRole('button', { name: 'Save', exact: true }).click();
  await tab.getByRole('button', { name: 'Spend', exact: true }).click();
  await tab.getByRole('button', { name: 'Delete Spend', exact: true }).click();
  await tab.getByLabel('Type Spend to go on').fill('Spend');
  await tab.getByRole('button', { name: 'Delete', exact: true }).click();
  await tab.getByRole('button', { name: 'Views', exact: true }).waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone, both pages fit for an admin of the workspace, and a member finds neither', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/overview', {
    as: 'admin',
    theme: 'dark',
    size: NARROW,
  });
  await tab.getByRole('list', { name: 'Models' }).getByText('gpt-5', { exact: true }).waitFor();
  expect(await axe()).toEqual([]);
  const width = () => tab.evaluate('document.documentElement.scrollWidth');
  expect(await width()).toBeLessThanOrEqual(NARROW.width);
  await shot('overview-dark-narrow');
  await tab.keyboard.press('g');
  await tab.keyboard.press('x');
  await tab.getByRole('region', { name: 'Requests by Model' }).first().waitFor();
  expect(await width()).toBeLessThanOrEqual(NARROW.width);
  await shot('explore-dark-narrow');
  expect(faults).toEqual([]);
  await close();
  const member = await console.open('/console/overview', { as: 'member' });
  await member.tab.getByRole('heading', { name: 'This page is not open to you' }).waitFor();
  for (const name of ['Overview', 'Explore', 'Logs'])
    expect(await member.tab.getByRole('link', { name, exact: true }).count()).toBe(0);
  await member.close();
});
