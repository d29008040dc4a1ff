/** One block of a page that a reader takes along: shell to paste, or a file to write. */
export interface ShellBlock {
  readonly page: string;
  /** Of its first command, counted from 1. */
  readonly line: number;
  readonly text: string;
  /** The file that the block is, where its fence names one. */
  readonly file: string | null;
}

const FENCE = /^```(\w*)(?: (\S+))?\n(.*?)^```$/gms;
/** What is typed into a shell, whatever the fence says. */
const TYPED = /^(?:curl|export|npm|docker|bin\/gateway|gateway) /m;

/** The blocks that a reader takes along. Throws where shell is not marked as such. */
export function shellBlocksOf(page: string, text: string): ShellBlock[] {
  const blocks: ShellBlock[] = [];
  for (const match of text.matchAll(FENCE)) {
    const [, language, file, content] = match;
    const line = text.slice(0, match.index).split('\n').length + 1;
    if (language === 'sh' || file) blocks.push({ page, line, text: content!, file: file ?? null });
    else if (language === '' && TYPED.test(content!)) throw new Error(`${page}:${line} is shell; mark it with sh`);
    else if (/^(?:bash|shell|console)$/.test(language!)) throw new Error(`${page}:${line}: mark shell with sh`);
  }
  return blocks;
}
