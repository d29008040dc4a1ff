import type { Page } from 'playwright-core';
import { startChromium } from '../../test/chromium.ts';
import { create, type GatewayProcess, json } from '../gateway.ts';

/** A page of the console in a real browser, until everything that it shows is there. */
export interface BrowserSample {
  readonly page: string;
  readonly ms: number;
}

const PAGES = ['overview', 'explore', 'logs'] as const;
const RANGES = ['1h', '24h', '7d', '30d'];
const TIMES = 4;
const WITHIN_MS = 30_000;
/** How far the list of calls is scrolled, again and again: more than a page of it each time. */
const SCROLL_PX = 4_000;
const SCROLLS = 20;

/** Opens pages as an owner does who has been there before: scripts are in the browser's cache, answers are not. */
export async function pagesInBrowser(gateway: GatewayProcess): Promise<BrowserSample[]> {
  const chromium = await startChromium();
  try {
    const context = await chromium.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true });
    await context.addCookies([{ ...(await cookieOf(gateway)), url: gateway.origin, httpOnly: true, sameSite: 'Lax' }]);
    const tab = await context.newPage();
    const open = async (page: string, range: string) => {
      const began = performance.now();
      await tab.goto(`${gateway.origin}/console/${page}?range=${range}`, { waitUntil: 'commit' });
      await tab.waitForFunction(IS_THERE, undefined, { polling: 'raf', timeout: WITHIN_MS });
      return performance.now() - began;
    };
    for (const page of PAGES) await open(page, '1h');
    const samples: BrowserSample[] = [];
    for (let time = 0; time < TIMES; time++)
      for (const range of RANGES) for (const page of PAGES) samples.push({ page, ms: await open(page, range) });
    return [...samples, ...(await scrolled(tab))];
  } finally {
    await chromium.close();
  }
}

/** Every row that is scrolled to is there, and how long until it is. */
async function scrolled(tab: Page): Promise<BrowserSample[]> {
  const samples: BrowserSample[] = [];
  const box = (await tab.locator('.logs-list .table-place').boundingBox())!;
  await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  for (let time = 0; time < SCROLLS; time++) {
    const began = performance.now();
    await tab.mouse.wheel(0, SCROLL_PX);
    await tab.waitForFunction(IS_FILLED, undefined, { polling: 'raf', timeout: WITHIN_MS });
    samples.push({ page: 'logs, scrolled', ms: performance.now() - began });
  }
  return samples;
}

async function cookieOf({ origin }: GatewayProcess): Promise<{ name: string; value: string }> {
  const person = { email: `bench-${Date.now()}@example.com`, password: 'correct horse battery' };
  await create(origin, '/v1/admin/users', { ...person, role: 'owner' });
  const signedIn = await fetch(`${origin}/v1/sessions`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify(person),
  });
  const [name, value] = signedIn.headers.get('set-cookie')!.split(';')[0]!.split('=');
  return { name: name!, value: value! };
}

/** Run in the page. Nothing is loading any more, and there is something to see. */
const IS_THERE = `document.querySelector('main .skeleton, main [aria-busy="true"]') === null
  && document.querySelector('main canvas, main tbody tr td') !== null`;

/** Rows reach to the lower edge of the list. */
const IS_FILLED = `(() => {
  const place = document.querySelector('.logs-list .table-place');
  const rows = [...place.querySelectorAll('tbody tr:not(.table-spacer)')];
  const last = rows.at(-1)?.getBoundingClientRect().bottom ?? 0;
  return place.scrollTop > 0 && last >= place.getBoundingClientRect().bottom - 1;
})()`;
