import { afterAll, beforeAll, expect, test } from 'bun:test';
import { serve } from '../gateway.ts';
import { NARROW, startConsole, type TestConsole } from './browser.ts';

let console: TestConsole;
beforeAll(async () => {
  console = await startConsole({ environment: { GATEWAY_ALERTS_SECONDS: '1' } });
});
afterAll(() => console.stop());

const file = (name: string, lines: readonly unknown[]) => ({
  name,
  mimeType: 'application/jsonl',
  buffer: Buffer.from(lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')),
});
const asking = (content: string, more: object = {}) => ({
  model: 'demo',
  messages: [{ role: 'user', content }],
  ...more,
});

test('an owner makes an assistant and talks to it; files are read, searched and named as they are', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/assistants');
  await tab.getByRole('heading', { name: 'No assistants yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('Support');
  await tab.getByLabel('Model').fill('demo');
  await tab.getByLabel('Instructions').fill('Answer briefly.');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'Create the assistant' }).click();
  await tab.getByRole('button', { name: 'Talk to it' }).click();
  await tab.getByLabel('Message').fill('Where is my parcel? <img src=x onerror=alert(1)>');
  await tab.keyboard.press('Control+Enter');
  await tab.getByText('wrote a message').waitFor();
  await tab.locator('.assistants-assistant').getByText('assistant').waitFor();
  expect(await axe()).toEqual([]);
  await shot('assistants-thread');

  await tab.getByRole('button', { name: 'All threads' }).click();
  await tab.getByRole('tab', { name: 'Vector stores' }).click();
  await tab.getByRole('heading', { name: 'No vector stores yet' }).waitFor();
  await tab.keyboard.press('c');
  await tab.getByLabel('Name').fill('Handbook');
  await tab.getByRole('button', { name: 'Create the vector store' }).click();
  const name = '<b>returns</b>.md';
  await tab
    .getByLabel('Add files')
    .setInputFiles([
      file(name, ['# Returns', 'A parcel may be sent back within thirty days.', 'Refunds take a week.']),
      file('shipping.md', ['# Shipping', 'Parcels are shipped on weekdays.']),
      file('logo.png', ['\u0089PNG']),
    ]);
  // All of them: what is asked before the file is read finds nothing.
  await tab.locator('.side-panel').getByText('3 of 3 files read').waitFor();
  await tab.getByText(name).first().waitFor();
  await tab.getByLabel('Search this store').fill('refunds');
  await tab.keyboard.press('Enter');
  await tab.locator('.assistants-found').getByText('Refunds take a week.').waitFor();
  await tab
    .locator('.assistants-found')
    .getByText(/^Returns, lines? 1/)
    .waitFor();
  expect(await axe()).toEqual([]);
  await shot('assistants-store');
  expect(faults).toEqual([]);
  await close();
});

test('a batch and a fine-tuning job are begun, followed to their end, and their results are taken home', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/batches');
  await tab.getByRole('heading', { name: 'No batches yet' }).waitFor();
  await tab.keyboard.press('c');
  const line = (custom_id: string, body: object) => ({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
  const lines = Array.from({ length: 40 }, (_, index) => line(`request-${index}`, asking(`Label number ${index}`)));
  await tab
    .getByLabel('File')
    .setInputFiles(file('labels.jsonl', [...lines, line('broken', asking('x', { temperature: 'hot' }))]));
  await tab.getByLabel('Name').fill('nightly labels');
  await tab.getByLabel('When').selectOption('immediate');
  expect(await axe()).toEqual([]);
  await tab.getByRole('button', { name: 'Upload and begin' }).click();
  await tab.getByRole('heading', { name: 'nightly labels' }).waitFor();
  await shot('batches-running');
  const answers = tab.getByRole('button', { name: 'Answers' });
  await answers.waitFor();
  expect(await axe()).toEqual([]);
  const saved = tab.waitForEvent('download');
  await answers.click();
  expect((await saved).suggestedFilename()).toEndWith('-output.jsonl');
  await shot('batches-done');

  await tab.goto(`${console.gateway.url}/console/fine-tuning`);
  await tab.getByRole('heading', { name: 'No jobs yet' }).waitFor();
  await tab.keyboard.press('c');
  const examples = Array.from({ length: 12 }, (_, index) => ({
    messages: [
      { role: 'user', content: `Question ${index}` },
      { role: 'assistant', content: `Answer ${index}` },
    ],
  }));
  await tab.getByLabel('Examples', { exact: true }).setInputFiles(file('examples.jsonl', examples));
  await tab.getByLabel('Model').fill('demo');
  await tab.getByRole('button', { name: 'Upload and begin' }).click();
  await tab.locator('.side-panel').getByText('succeeded', { exact: true }).waitFor();
  await tab.getByRole('img', { name: /^Loss from step/ }).waitFor();
  expect(await axe()).toEqual([]);
  await shot('fine-tuning-done');
  expect(faults).toEqual([]);
  await close();
});

test('health says how what is told outside took it, the failing first', async () => {
  const { gateway } = console;
  const taken = serve(() => new Response('ok'));
  const refusing = serve(() => new Response('no', { status: 500 }));
  const channel = async (name: string, url: string) => {
    const made = await gateway.api.post('/v1/alert-channels', { name, kind: 'slack', settings: { url } });
    expect(made.status).toBe(200);
    return made.json.id as string;
  };
  const { tab, faults, axe, shot, close } = await console.open('/console/health');
  const card = tab.locator('section.card').filter({ has: tab.getByRole('heading', { name: 'Integrations' }) });
  await card.getByText('Nothing outside is told anything').waitFor();
  const [good, bad] = [await channel('Good place', taken.origin), await channel('<b>Bad</b> place', refusing.origin)];
  const condition = { type: 'key_expiring' };
  await gateway.api.post('/v1/alerts', { name: 'Keys end', condition, channels: [good, bad] });
  await gateway.given.apiKey({ name: 'soon over', expires_at: new Date(Date.now() + 86_400_000).toISOString() });
  await card.getByText('Took what it was told').waitFor();
  await card.getByText(/Did not take it .*500|Given up .*500/).waitFor();
  expect(await card.locator('li strong').first().innerText()).toBe('<b>Bad</b> place (slack)');
  expect(await axe()).toEqual([]);
  await card.scrollIntoViewIfNeeded();
  await shot('health-integrations');
  await tab.emulateMedia({ colorScheme: 'dark' });
  await tab.setViewportSize(NARROW);
  expect(await axe()).toEqual([]);
  await card.scrollIntoViewIfNeeded();
  await shot('health-integrations-dark-narrow');
  expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  expect(faults).toEqual([]);
  await close();
  taken.stop();
  refusing.stop();
});

test('health says in words how everything is; dark and on a phone these pages fit', async () => {
  const { tab, faults, axe, shot, close } = await console.open('/console/health');
  await tab.getByText('all is well').waitFor();
  await tab.getByText('embedded (SQLite)').waitFor();
  expect(await axe()).toEqual([]);
  await shot('health-light');
  await tab.emulateMedia({ colorScheme: 'dark' });
  await tab.setViewportSize(NARROW);
  for (const path of ['health', 'assistants', 'batches', 'fine-tuning']) {
    await tab.goto(`${console.gateway.url}/console/${path}`);
    await tab.getByRole('heading', { level: 1 }).waitFor();
    await tab.waitForLoadState('networkidle');
    expect(await axe()).toEqual([]);
    await shot(`${path}-dark-narrow`);
    expect(await tab.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
  }
  expect(faults).toEqual([]);
  await close();
});
