import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** These come first, in this order: what later sheets build on. */
const FIRST = ['design/tokens.css', 'design/base.css'];

/** One sheet that takes in every other one: pages are loaded one by one, and their styles are small. */
export function sheetOf(web: string): string {
  const found = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.css'));
  const rest = found.filter((file) => !FIRST.includes(file)).sort();
  return [...FIRST, ...rest].map((file) => `@import ${JSON.stringify(join(web, file))};`).join('\n');
}
