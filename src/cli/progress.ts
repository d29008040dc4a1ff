/** What a command tells those who wait for it. */
export interface Progress {
  /** So much more of it is done. */
  add(count: number): void;
  end(): void;
}

export interface ProgressOptions {
  readonly what: string;
  readonly total: number;
  readonly out?: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;
}

const WIDTH = 30;
/** In a log, a line for each tenth is enough. */
const PARTS = 10;

/** A bar on a terminal, which draws itself anew, and plain lines anywhere else. */
export function showBar({ what, total, out = process.stderr }: ProgressOptions): Progress {
  let done = 0;
  let shown = out.isTTY ? -1 : 0;
  const draw = () => {
    const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
    const step = out.isTTY ? percent : Math.floor(percent / (100 / PARTS));
    if (step === shown) return;
    shown = step;
    const numbers = `${percent} %, ${done} of ${total} ${what}`;
    const filled = Math.floor((percent / 100) * WIDTH);
    out.write(out.isTTY ? `\r[${'#'.repeat(filled).padEnd(WIDTH, '.')}] ${numbers}` : `${numbers}\n`);
  };
  draw();
  return {
    add: (count) => {
      done += count;
      draw();
    },
    end: () => void (out.isTTY && out.write('\n')),
  };
}
