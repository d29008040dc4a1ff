import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../process.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';
import { givenCalls, startTalker } from './given-calls.ts';

let console: TestConsole;
let talker: ReturnType<typeof startTalker>;
beforeAll(async () => {
  talker = startTalker();
  console = await startConsole();
  const { last } = await givenCalls(console.gateway, talker.origin);
  const made = await console.gateway.api.post('/v1/guardrails', {
    ...{ name: 'No secrets', slug: 'no-secrets', workspace_id: 'default', actions: { deny: true } },
    checks: [{ id: 'default.contains', parameters: { words: ['Walrus'], operator: 'none' } }],
  });
  expect(made.status).toBe(200);
  await console.gateway.logOf(last);
});
afterAll(async () => {
  await console.stop();
  talker.stop();
});

test('two models answer side by side, with cost and time; the call goes along as a link and as code', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/playground');
  await tab.getByLabel('Model 1', { exact: true }).fill('@openai-main/gpt-4o');
  await tab.getByRole('button', { name: 'Compare' }).click();
  await tab.getByLabel('Model 2', { exact: true }).fill('@demo/any');
  await tab.getByLabel('System prompt').fill('Be short.');
  await tab.getByLabel('Message').fill('How do refunds work?');
  await tab.keyboard.press('Enter');
  const [first, second] = [tab.locator('.play-column').first(), tab.locator('.play-column').nth(1)];
  await first.getByText('three to five').waitFor();
  await second.getByText('This is a simulated answer').waitFor();
  await first.getByText('$0.00626').waitFor();
  expect(await tab.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
  expect(await axe()).toEqual([]);
  await shot('playground-light');

  await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await tab.getByRole('button', { name: 'Share' }).click();
  await tab.getByText('The link is copied.').waitFor();
  const link = await tab.evaluate<string>('navigator.clipboard.readText()');
  await tab.getByRole('button', { name: 'Code' }).click();
  await tab.getByRole('tab', { name: 'Python' }).click();
  await tab.getByText('from openai import OpenAI').waitFor();
  expect(await axe()).toEqual([]);
  await shot('playground-code');
  await tab.keyboard.press('Escape');

  await tab.goto('about:blank');
  await tab.goto(link);
  await tab.locator('.play-column').nth(1).getByText('How do refunds work?').waitFor();
  expect(await tab.getByLabel('System prompt').inputValue()).toBe('Be short.');
  expect(faults).toEqual([]);
  await close();
});

test('a model calls a tool and gets a result by hand; a guardrail refuses; a stream is stopped', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/playground', { theme: 'dark' });
  await tab.getByLabel('Model 1', { exact: true }).fill('@openai-main/gpt-4o');
  await tab.getByRole('button', { name: 'Begin with an example' }).first().click();
  await tab.getByLabel('Message').fill('How is the weather in Oslo?');
  await tab.keyboard.press('Enter');
  await tab.getByRole('button', { name: 'Let the model make it up' }).click();
  const result = tab.getByLabel('What get_order answers');
  await eventually('a made-up result', async () => (await result.inputValue()).includes('three to five'));
  await tab.getByLabel('What get_order answers').fill('{"state":"sent back"}');
  await shot('playground-tools-dark');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'Send the result' }).click();
  await tab.getByText('three to five').waitFor();

  await tab.getByRole('button', { name: 'Begin anew' }).click();
  await tab.getByLabel('Tools').fill('[');
  await tab.getByLabel('Message').fill('Tell me of Project Walrus.');
  expect(await tab.getByRole('button', { name: 'Ask', exact: true }).isDisabled()).toBe(true);
  await tab.getByLabel('Tools').fill('');
  await tab.getByRole('group', { name: 'Guardrails of the request' }).getByLabel('No secrets').check();
  await tab.getByRole('button', { name: 'Ask', exact: true }).click();
  await tab.getByRole('alert').getByText('446').waitFor();

  await tab.getByRole('group', { name: 'Guardrails of the request' }).getByLabel('No secrets').uncheck();
  await tab.getByRole('button', { name: 'Begin anew' }).click();
  await tab.getByLabel('Model 1', { exact: true }).fill('@demo/any');
  await tab.getByLabel('Message').fill('Tell me a story. [[simulate: chunk-delay=200, length=400]]');
  await tab.keyboard.press('Enter');
  await tab.getByText('This is a simulated').first().waitFor();
  await tab.getByRole('button', { name: 'Stop' }).click();
  await tab.getByText('stopped').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('a call of the log opens in the playground, and a member asks from a phone', async () => {
  const owner = await console.open('/console/logs?filter=model:o4-mini');
  await owner.tab.locator('tbody tr').first().click();
  await owner.tab.getByRole('button', { name: 'Open in the playground (p)' }).click();
  await eventually('the message', async () => (await owner.tab.getByLabel('Message').inputValue()) !== '');
  expect(await owner.tab.getByLabel('Message').inputValue()).toBe('Where is order A-1041?');
  expect(await owner.tab.getByLabel('Model 1', { exact: true }).inputValue()).toBe('@openai-main/o4-mini');
  expect(await owner.tab.getByLabel('Tools').inputValue()).toContain('get_order');
  await owner.close();

  const { tab, faults, axe, shot, close } = await console.open('/console/playground', { as: 'member', size: NARROW });
  await tab.getByLabel('Model 1', { exact: true }).fill('@demo/any');
  await tab.getByLabel('Message').fill('Hello');
  await tab.keyboard.press('Enter');
  await tab.getByText('This is a simulated answer').waitFor();
  expect(await tab.getByRole('button', { name: 'Open in the log' }).count()).toBe(0);
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  expect(await axe()).toEqual([]);
  await shot('playground-narrow');
  expect(faults).toEqual([]);
  await close();
});
