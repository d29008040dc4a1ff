import { invalid } from './document.ts';
import { unmarked } from './tables.ts';

/** A stretch of text on a page, as the parser gives it. */
interface Run {
  readonly str: string;
  /** Where it stands and how it is turned: the first two numbers lead along the line, the last two are its place. */
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
}

/** Of the height of letters: what is further apart than this is two words, and higher or lower than this another line. */
const APART = 0.12;
const ANOTHER_LINE = 0.5;

/** The text of a document's pages. A scanned page has none. */
export async function textOfPdf(bytes: Uint8Array): Promise<string> {
  const { getDocumentProxy } = await import('unpdf');
  try {
    const document = await getDocumentProxy(bytes, { verbosity: 0, isEvalSupported: false });
    const pages: string[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number);
      const { items } = await page.getTextContent();
      pages.push(joined(items.filter((item) => 'str' in item)));
      page.cleanup();
    }
    return pages.join('\n\n');
  } catch (error) {
    const isLocked = (error as Error)?.name === 'PasswordException';
    return invalid(isLocked ? 'The document is encrypted.' : 'The document is damaged: it cannot be read.');
  }
}

/** Runs in their order. Those that stand apart on the page are kept apart: two numbers never become one. */
export function joined(runs: readonly Run[]): string {
  let text = '';
  let before: Run | null = null;
  for (const run of runs) {
    if (run.str === '' && !run.hasEOL) continue;
    if (before && run.str !== '' && !/\s$/.test(text) && !/^\s/.test(run.str)) text += between(before, run);
    text += unmarked(run.str);
    if (run.hasEOL) text += '\n';
    if (run.str.trim() !== '') before = run;
  }
  return text.trim();
}

function between(before: Run, run: Run): string {
  const [a = 1, b = 0, , , x = 0, y = 0] = before.transform;
  const size = Math.hypot(a, b) || 1;
  const [alongX, alongY] = [a / size, b / size];
  const [dx, dy] = [(run.transform[4] ?? 0) - x, (run.transform[5] ?? 0) - y];
  const height = Math.max(before.height, run.height) || size;
  if (Math.abs(dy * alongX - dx * alongY) > height * ANOTHER_LINE) return '\n';
  const gap = dx * alongX + dy * alongY - before.width;
  return gap > height * APART || gap < -height ? ' ' : '';
}
