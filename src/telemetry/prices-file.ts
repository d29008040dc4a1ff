import { open } from 'node:fs/promises';
import * as z from 'zod';
import { type PriceFile, priceFile } from '../core/price-file.ts';
import { type Prices, pricesOf } from '../core/prices.ts';
import { schemaOf } from '../core/schema.ts';

/** How often a changed file is looked for. */
const EVERY_MS = 30_000;
const MOST_BYTES = 4 << 20;

export interface PricesFile extends Prices {
  /** What is wrong with the file as it is now; the prices before it stay in force. */
  readonly problem: string | null;
  /** Looks at the file now. */
  refresh(): Promise<void>;
  close(): void;
}

/** Prices in a file of the operator's, read again when it changes. One that cannot be used at the start is refused. */
export async function openPricesFile({
  path,
  onProblem,
  onFile = () => {},
}: {
  path: string;
  /** Called with the file whenever it is in force. */
  onFile?: (file: PriceFile) => void;
  /** Called with every new fault, and with null when the file is good again. */
  onProblem: (problem: string | null) => void;
}): Promise<PricesFile> {
  const first = await readIfChanged(path, null);
  if ('fault' in first) throw new Error(`GATEWAY_PRICES_FILE: ${first.fault}.`);
  let { version, prices } = first;
  let problem: string | null = null;
  if (first.file) onFile(first.file);

  const refresh = async () => {
    const next = await readIfChanged(path, version);
    version = next.version;
    if ('fault' in next) {
      if (problem !== next.fault) onProblem(next.fault);
      problem = next.fault;
      return;
    }
    if (!next.prices) return;
    prices = next.prices;
    onFile(next.file!);
    if (problem !== null) onProblem(null);
    problem = null;
  };
  const timer = setInterval(() => void refresh(), EVERY_MS);
  timer.unref();

  return {
    priceOf: (...asked) => prices!.priceOf(...asked),
    costOf: (...asked) => prices!.costOf(...asked),
    listedBy: (model) => prices!.listedBy(model),
    get problem() {
      return problem;
    },
    refresh,
    close: () => clearInterval(timer),
  };
}

type Reading =
  | { readonly version: string | null; readonly prices: Prices | null; readonly file: PriceFile | null }
  | { readonly version: string | null; readonly fault: string };

/** A file that is written while it is read has another version the next time, and is read again then. */
async function readIfChanged(path: string, known: string | null): Promise<Reading> {
  let version: string | null = null;
  try {
    await using file = await open(path, 'r');
    const { ino, size, mtimeMs } = await file.stat();
    version = `${ino} ${size} ${mtimeMs}`;
    if (version === known) return { version, prices: null, file: null };
    if (size > MOST_BYTES) return { version, fault: `${path} is larger than ${MOST_BYTES} bytes` };
    const parsed = schemaOf(priceFile).safeParse(JSON.parse(await file.readFile('utf8')));
    if (parsed.success) return { version, prices: pricesOf(parsed.data), file: parsed.data };
    const [issue] = parsed.error.issues;
    const where = issue && issue.path.length > 0 ? `${z.core.toDotPath(issue.path)}: ` : '';
    return { version, fault: `${path} cannot be used: ${where}${issue?.message}` };
  } catch (error) {
    const why = error instanceof SyntaxError ? `is not JSON (${error.message})` : `cannot be read (${codeOf(error)})`;
    return { version, fault: `${path} ${why}` };
  }
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? String(error);
