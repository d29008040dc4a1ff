import { afterAll, beforeAll, expect, test } from 'bun:test';
import { eventually } from '../process.ts';
import { holdBack, NARROW, startConsole, type TestConsole } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
  const { given } = console.gateway;
  for (const slug of ['openai-main', 'anthropic-eu']) await given.virtualKey({ name: slug, slug });
});
afterAll(() => console.stop());

test('a config is made from a template, changed with faults in place, tried dry, and restored', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/routing');
  await tab.getByRole('heading', { name: 'No configs yet' }).waitFor();
  await shot('routing-empty');
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('Main traffic');
  await tab.getByLabel('By condition').check();
  expect(await axe()).toEqual([]);
  await shot('routing-create');
  await tab.getByRole('button', { name: 'Create and edit' }).click();

  const editor = tab.getByRole('textbox', { name: 'Config' });
  await editor.waitFor();
  const answer = tab.getByRole('status').filter({ hasText: 'would serve this' });
  await answer.filter({ hasText: 'sim' }).waitFor();
  await tab.getByLabel('Metadata').fill('tier=paid');
  await answer.filter({ hasText: 'conditions[0] holds' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('routing-config-light');

  // Completion offers what the schema knows; what the gateway refuses is shown at its place.
  await tab.getByRole('button', { name: 'everyone' }).click();
  await tab.keyboard.press('ArrowLeft');
  await tab.keyboard.press('ArrowRight');
  await tab.keyboard.type(' "weig');
  await tab.getByRole('option', { name: 'weight' }).waitFor();
  await shot('routing-completion');
  await tab.getByRole('option', { name: 'weight' }).click();
  await tab.keyboard.type('-1');
  await tab.getByRole('button', { name: 'targets[1].weight give 0 or more' }).waitFor();
  await shot('routing-fault');
  await tab.keyboard.press('Backspace');
  await tab.keyboard.press('Backspace');
  await tab.keyboard.type('2');
  await tab.getByText('It can be saved.').waitFor();
  await tab.keyboard.press('Control+s');
  await tab.getByText('Saved. Calls use it from now on.').waitFor();

  await tab.getByRole('tab', { name: 'Versions' }).click();
  await tab.getByLabel('What changed').filter({ hasText: '"weight": 2' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('routing-versions');
  await tab.getByRole('button', { name: 'Restore version 1' }).click();
  await tab.getByText('Restored as a new version.').waitFor();
  await tab.getByRole('button', { name: 'Version 3 in use' }).waitFor();
  const { json } = await console.gateway.api.get('/v1/configs/main-traffic');
  expect(json.config.targets[1].weight).toBeUndefined();
  await tab.getByRole('tab', { name: 'Use it' }).click();
  await tab.getByText('x-gateway-config: main-traffic').waitFor();
  expect(faults).toEqual([]);
  await close();
});

test('what is written while it is saved stays, also when the gateway does not answer then', async () => {
  const { tab, faults, close } = await console.open('/console/routing/main-traffic');
  const editor = tab.getByRole('textbox', { name: 'Config' });
  const write = async (text: string) => {
    await editor.press('Control+a');
    await tab.keyboard.press('Delete');
    await tab.keyboard.insertText(text);
  };
  await write('{"virtual_key":"openai-main"}');
  const saving = await holdBack(tab, 'PUT', '/v1/configs/main-traffic*');
  await tab.keyboard.press('Control+s');
  await saving.isAsked;
  await write('{"virtual_key":"anthropic-eu"}');
  let refused = 0;
  await tab.route('**/v1/configs/main-traffic*', async (route) => {
    if (route.request().method() !== 'GET') return route.fallback();
    await route.fulfill({ status: 503, json: {} });
    refused++;
  });
  saving.release();
  await tab.getByText('Saved. Calls use it from now on.').waitFor();
  await eventually('the page gives up looking', () => refused === 3);
  await tab.getByText('not saved').waitFor();
  expect(await editor.innerText()).toContain('anthropic-eu');
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone the config fits, and what a member may not do is absent', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/routing/main-traffic', {
    theme: 'dark',
    size: NARROW,
  });
  await tab.getByRole('textbox', { name: 'Config' }).waitFor();
  await tab.getByText('would serve this').waitFor();
  expect(await axe()).toEqual([]);
  await shot('routing-config-dark-narrow');
  expect(await tab.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  expect(faults).toEqual([]);
  await close();
  const member = await console.open('/console/routing/main-traffic', { as: 'member' });
  await member.tab.getByText('would serve this').waitFor();
  expect(await member.tab.getByRole('button', { name: 'Save' }).count()).toBe(0);
  await member.close();
});
