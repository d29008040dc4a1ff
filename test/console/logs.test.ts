import { afterAll, beforeAll, expect, test } from 'bun:test';
import { client } from '../gateway.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';
import { givenCalls, startTalker } from './given-calls.ts';

let console: TestConsole;
let talker: ReturnType<typeof startTalker>;
let given: Awaited<ReturnType<typeof givenCalls>>;
beforeAll(async () => {
  talker = startTalker();
  console = await startConsole();
  given = await givenCalls(console.gateway, talker.origin);
  await console.gateway.logOf(given.last);
});
afterAll(async () => {
  await console.stop();
  talker.stop();
});

test('calls are filtered by text and by click, opened, walked through, and shown as what they are', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/logs');
  const rows = tab.locator('tbody tr');
  await tab.getByText('unknown_virtual_key').waitFor();
  expect(await rows.count()).toBe(9);
  expect(await axe()).toEqual([]);
  await shot('logs-light');

  // A fault is shown at its place, and what could stand there is offered.
  await tab.keyboard.press('/');
  await tab.keyboard.type('status:200 colour:red');
  await tab.keyboard.press('Enter');
  await tab.getByText('there is no field "colour"').waitFor();
  expect(await tab.locator('mark').innerText()).toBe('colour:red');
  await tab.getByRole('combobox').fill('status:200 mod');
  await tab.getByRole('option', { name: 'model:' }).click();
  await tab.getByRole('option', { name: 'o4-mini' }).click();
  await shot('logs-completion');
  await tab.keyboard.press('Enter');
  await rows.filter({ hasText: 'gpt-4o' }).first().waitFor({ state: 'detached' });
  expect(await rows.count()).toBe(1);
  expect(new URL(tab.url()).searchParams.get('filter')).toBe('status:200 model:o4-mini');
  await tab.getByRole('button', { name: 'Empty the filter' }).click();

  // Names that others chose are text, too.
  await rows.filter({ hasText: '<script>' }).click();
  await tab.getByRole('complementary', { name: 'Log entry' }).getByText('1 tool offered').click();
  await tab.getByRole('tab', { name: 'Details' }).click();
  await tab.getByText('team', { exact: true }).waitFor();
  expect(await tab.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
  await tab.getByRole('tab', { name: 'Conversation' }).click();
  await tab.getByRole('button', { name: 'Close (Esc)' }).click();

  await rows.filter({ hasText: 'support-bot' }).first().hover();
  await rows
    .filter({ hasText: 'support-bot' })
    .first()
    .getByRole('button', { name: /Only api_key/ })
    .click();
  await rows.filter({ hasText: 'checkout-service' }).first().waitFor({ state: 'detached' });

  // The newest call: what was said, with nothing of it run.
  await rows.first().click();
  const entry = tab.getByRole('complementary', { name: 'Log entry' });
  await entry.getByText('three to five').waitFor();
  await entry.getByText('<script>', { exact: false }).waitFor();
  expect(await entry.getByRole('link', { name: 'the policy' }).getAttribute('href')).toBe(
    'https://example.com/refunds',
  );
  expect(await entry.getByRole('link', { name: 'Not a link' }).count()).toBe(0);
  expect(await tab.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
  expect(await axe()).toEqual([]);
  await shot('logs-conversation');
  await entry.getByRole('tab', { name: 'Details' }).click();
  expect(await entry.locator('li[data-kind="cached input"]').innerText()).toMatch(/512 \$0\.000\d+/);
  await shot('logs-details');
  await entry.getByRole('tab', { name: 'Conversation' }).click();
  await entry.getByRole('button', { name: 'A good answer' }).click();
  await entry.locator('.entry-rated-good').waitFor();
  await tab.keyboard.press('j');
  await tab.keyboard.press('j');
  await entry.locator('.turn-image').waitFor();
  expect(
    await entry.locator('.turn-image').evaluate((image) => (image as unknown as { width: number }).width),
  ).toBeGreaterThan(1);

  // The one that a guardrail stopped; the filter goes along with previous and next.
  await entry.getByRole('button', { name: 'Next (j)' }).click();
  await entry.getByRole('tab', { name: /Guardrails/ }).click();
  await entry.getByText('ended the call').waitFor();
  await shot('logs-guardrails');
  expect(faults).toEqual([]);
  await close();
});

test('an entry shows its attempts, both ways in both formats, what differs, and goes along as curl', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/logs?filter=attempts:2&tab=timing', {
    theme: 'dark',
  });
  await tab.locator('tbody tr').first().click();
  const entry = tab.getByRole('complementary', { name: 'Log entry' });
  await entry.getByText('fallback').waitFor();
  expect(await axe()).toEqual([]);
  await shot('logs-attempts-dark');
  await entry.getByRole('tab', { name: 'Raw' }).click();
  await entry.getByRole('button', { name: 'What differs' }).click();
  await entry.locator('.diff-new').first().waitFor();
  await shot('logs-diff-dark');
  await entry.getByRole('tab', { name: 'Details' }).click();
  await entry.getByText('checkout-service').waitFor();
  expect(await axe()).toEqual([]);
  await shot('logs-details-dark');
  await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.keyboard.press('y');
  await tab.getByText('The curl command is copied.').waitFor();
  const command = await tab.evaluate<string>('navigator.clipboard.readText()');
  expect(command).toContain('x-gateway-api-key: $GATEWAY_KEY');
  expect(command).toContain('Please fail once.');
  expect(faults).toEqual([]);
  await close();
});

test('new calls come in live, on a phone too, and sessions show what belongs together', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/logs?live=true', {
    size: NARROW,
    theme: 'dark',
  });
  await tab.getByText('unknown_virtual_key').waitFor();
  await client(console.gateway.url).post(
    '/v1/chat/completions',
    { model: 'gpt-4.1-live', messages: [{ role: 'user', content: 'Hello' }] },
    { key: given.checkout.key, headers: { 'x-gateway-virtual-key': 'openai-main' } },
  );
  await tab.getByText('gpt-4.1-live').waitFor();
  expect(await axe()).toEqual([]);
  await shot('logs-live-dark-narrow');
  await tab.getByText('gpt-4.1-live').click();
  await tab.getByText('three to five').waitFor();
  await shot('logs-entry-dark-narrow');
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  await tab.getByRole('button', { name: 'Close (Esc)' }).click();

  await tab.setViewportSize({ width: 1440, height: 900 });
  await tab.getByRole('link', { name: 'Sessions' }).click();
  await tab.getByText('agent-7f3a').waitFor();
  expect(await axe()).toEqual([]);
  await shot('sessions-dark');
  await tab.getByText('agent-7f3a').click();
  const calls = tab.getByRole('region', { name: 'Calls of the session over time' }).locator('li');
  await calls.nth(2).waitFor();
  expect(await calls.count()).toBe(3);
  await tab.keyboard.press('j');
  await tab.getByRole('complementary', { name: 'Log entry' }).getByText('What is on this picture?').waitFor();
  expect(await axe()).toEqual([]);
  await shot('session-dark');
  expect(faults).toEqual([]);
  await close();
});

test('a member has no logs', async () => {
  const { tab, close } = await console.open('/console/logs', { as: 'member' });
  await tab.getByRole('heading', { name: 'This page is not open to you' }).waitFor();
  expect(await tab.getByRole('link', { name: 'Logs' }).count()).toBe(0);
  await close();
});
