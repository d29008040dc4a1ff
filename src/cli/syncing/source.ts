/** A file elsewhere, as it was when its source was looked through. */
export interface SourceFile {
  /** With / between its parts, whatever the machine does. */
  readonly path: string;
  readonly bytes: number;
  /** Changes when the file does. */
  readonly digest: string;
  /** Its beginning; null: it is not read before it has changed. */
  readonly head: Uint8Array | null;
}

/** A file that was fetched, as it is now. */
export interface FetchedFile {
  readonly at: string;
  readonly bytes: number;
  readonly digest: string;
  readonly head: Uint8Array;
  /** What lies here for a while only goes again. */
  release(): void;
}

/** Why a file of the source is not taken, in words for people. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
  /** It is meant and cannot be taken, so it is told, and what the store has of it stays. */
  readonly isFault: boolean;
}

export interface Listing {
  readonly files: readonly SourceFile[];
  readonly leftOut: readonly LeftOut[];
}

/** What a store is kept in step with. */
export interface Source {
  /** The same on every machine: files in the store are known by it. */
  readonly name: string;
  /** Everything, or it throws: what is missing here is removed from the store. */
  list(choice: Choice): Promise<Listing>;
  /** Null: the file is gone meanwhile. */
  fetch(file: SourceFile): Promise<FetchedFile | null>;
  close(): void;
}

/** Which files of a source are meant. */
export interface Choice {
  takes(path: string): boolean;
  /** Whether anything below this folder can be meant. */
  enters(folder: string): boolean;
}

export const MOST_FILES = 100_000;
export const MOST_FILE_BYTES = 512 << 20;
const LONGEST_PATH = 1_024;
/** So much of a file is looked at for front matter. */
export const HEAD_BYTES = 64 << 10;

export interface ChoiceOptions {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly hidden: boolean;
}

/** A pattern without a slash is one of names, in every folder; one with a slash is one of whole paths. */
export function choiceOf({ include, exclude, hidden }: ChoiceOptions): Choice {
  const matches = (patterns: readonly string[]) => {
    const globs = patterns.map((pattern) => ({ glob: new Bun.Glob(pattern), isPath: pattern.includes('/') }));
    return (path: string) =>
      globs.some(({ glob, isPath }) => glob.match(isPath ? path : path.slice(path.lastIndexOf('/') + 1)));
  };
  const isIncluded = include.length === 0 ? () => true : matches(include);
  const isExcluded = matches(exclude);
  const isHidden = (path: string) => !hidden && path.split('/').some((part) => part.startsWith('.'));
  return {
    takes: (path) => !isHidden(path) && isIncluded(path) && !isExcluded(path),
    enters: (folder) => !isHidden(folder) && !isExcluded(folder),
  };
}

/** Why a file cannot be taken whatever is in it; null: it can. */
export function obstacleTo(path: string, bytes: number): LeftOut | null {
  if (bytes === 0) return { path, why: 'is empty', isFault: false };
  if (bytes > MOST_FILE_BYTES) return { path, why: `has more than ${MOST_FILE_BYTES} bytes`, isFault: true };
  if (path.length > LONGEST_PATH)
    return { path, why: `has a path of more than ${LONGEST_PATH} characters`, isFault: true };
  if (!path.isWellFormed() || /\p{Cc}|\ufffd/u.test(path))
    return {
      path: JSON.stringify(path),
      why: 'has a name that is not UTF-8, or with control characters',
      isFault: true,
    };
  return null;
}

export function requireFew(count: number) {
  if (count > MOST_FILES)
    throw new Error(
      `There are more than ${MOST_FILES} files: choose fewer with --include and --exclude, or sync parts of them into several stores.`,
    );
}
