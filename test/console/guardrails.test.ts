import { afterAll, beforeAll, expect, test } from 'bun:test';
import { holdBack, NARROW, startConsole, type TestConsole } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole();
});
afterAll(() => console.stop());

const say = (content: string) =>
  console.gateway.api.post(
    '/v1/chat/completions',
    { model: 'demo', messages: [{ role: 'user', content }] },
    { headers: { 'x-gateway-config': '{"virtual_key":"demo","input_guardrails":["no-secrets"]}' } },
  );

test('a guardrail is made, tried on the bench, given another check, saved, attached and seen to hit', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/guardrails');
  await tab.getByRole('heading', { name: 'No guardrails yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByRole('textbox', { name: 'Name' }).fill('No secrets');
  expect(await axe()).toEqual([]);
  await shot('guardrails-create');
  await tab.getByRole('button', { name: 'Create and edit' }).click();

  await tab.getByRole('button', { name: 'Try it' }).click();
  await tab.getByText('It passes, changed').waitFor();
  await tab.getByLabel('What would go on').filter({ hasText: '{{EMAIL_ADDRESS_1}}' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('guardrails-bench-light');

  await tab.getByRole('button', { name: 'Add a check' }).click();
  await tab.getByLabel('Find a check').fill('words');
  await shot('guardrails-add');
  await tab.getByRole('button', { name: /^Words requests/ }).click();
  await tab.getByRole('button', { name: 'Save' }).click();
  // What the gateway refuses stands at its field.
  await tab.locator('.field-error').first().waitFor();
  await tab.getByRole('textbox', { name: 'Words' }).fill('Project Walrus\n');
  await tab.getByLabel('Operator').selectOption('none');
  await tab.getByRole('button', { name: 'Refuse (446)' }).click();
  await tab.getByLabel('Text').fill('Tell me about Project Walrus');
  await tab.getByRole('button', { name: 'Try it' }).click();
  await tab.getByText('It is denied').waitFor();
  await tab.getByRole('button', { name: 'A stream says' }).click();
  await tab.getByLabel('Comes in pieces').selectOption('4');
  await tab.getByRole('button', { name: 'Try it' }).click();
  await tab.getByText('the client gets 446 and nothing of the stream').waitFor();
  const steps = tab.getByRole('region', { name: 'What would have been let through' });
  expect(await steps.getByRole('row').count()).toBe(1 + 8);
  await steps.getByText('its end').waitFor();
  expect(await axe()).toEqual([]);
  await shot('guardrails-stream');
  await tab.getByRole('button', { name: 'Save' }).click();
  await tab.getByText('Saved. Calls meet it from now on.').waitFor();

  await console.gateway.api.post('/v1/configs', {
    name: 'Careful',
    config: { virtual_key: 'demo', input_guardrails: ['no-secrets'] },
  });
  expect((await say('Project Walrus again')).status).toBe(446);
  expect((await say('Good morning')).status).toBe(200);
  await tab.getByRole('tab', { name: 'Versions' }).click();
  await tab.getByLabel('What changed').filter({ hasText: 'Project Walrus' }).waitFor();
  await tab.getByRole('tab', { name: 'Where it holds' }).click();
  await tab.getByRole('link', { name: 'Careful' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('guardrails-uses');
  await tab.getByRole('tab', { name: 'Hits' }).click();
  await tab.getByRole('row').filter({ hasText: 'default.contains' }).waitFor();
  await tab.getByText('50 %').waitFor();
  expect(await axe()).toEqual([]);
  await shot('guardrails-hits');
  await tab.getByRole('link', { name: 'Guardrails' }).first().click();
  await tab.getByText('Judged calls').waitFor();
  await tab.getByRole('row').filter({ hasText: 'No secrets' }).filter({ hasText: '50 %' }).waitFor();
  await shot('guardrails-list');
  expect(faults).toEqual([]);
  await close();
});

test('what is written while it is saved stays', async () => {
  const { tab, faults, close } = await console.open('/console/guardrails/no-secrets');
  const words = tab.getByRole('textbox', { name: 'Words' });
  await words.fill('Project Walrus\nProject Seal');
  const saving = await holdBack(tab, 'PUT', '/v1/guardrails/no-secrets');
  await tab.getByRole('button', { name: 'Save' }).click();
  await saving.isAsked;
  await words.fill('Project Walrus\nProject Seal\nProject Otter');
  saving.release();
  await tab.getByText('Saved. Calls meet it from now on.').waitFor();
  await tab.getByText('not saved').waitFor();
  expect(await words.inputValue()).toBe('Project Walrus\nProject Seal\nProject Otter');
  await tab.getByRole('button', { name: 'Discard' }).click();
  expect(await words.inputValue()).toBe('Project Walrus\nProject Seal');
  expect(faults).toEqual([]);
  await close();
});

test('dark and on a phone it fits, and a member reads without changing', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/guardrails/no-secrets', {
    theme: 'dark',
    size: NARROW,
  });
  await tab.getByRole('button', { name: 'Try it' }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('guardrails-dark-narrow');
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  expect(faults).toEqual([]);
  await close();
  const member = await console.open('/console/guardrails/no-secrets', { as: 'member' });
  await member.tab.getByRole('textbox', { name: 'Words' }).waitFor();
  for (const name of ['Save', 'Try it', 'Add a check'])
    expect(await member.tab.getByRole('button', { name }).count()).toBe(0);
  await member.close();
});
