import { type ParseArgsConfig, parseArgs } from 'node:util';

/** A command line that cannot be understood: a sentence, and how the command is used. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The flags and positionals of one command; anything else is refused with its usage. */
export function readArguments<Options extends NonNullable<ParseArgsConfig['options']>>(
  rest: readonly string[],
  {
    options,
    positionals,
    fewest = positionals,
    usage,
    what = 'a file',
  }: {
    options: Options;
    positionals: number;
    /** Where the last of them may be left out. */
    fewest?: number;
    usage: string;
    what?: string;
  },
) {
  if (rest.includes('--help') || rest.includes('-h')) {
    console.log(usage);
    process.exit(0);
  }
  const parse = () => parseArgs({ args: [...rest], options, allowPositionals: true, strict: true });
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse();
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
  if (parsed.positionals.length > positionals || parsed.positionals.length < fewest) {
    const why =
      parsed.positionals.length > positionals
        ? `"${parsed.positionals[positionals]}" is one too many`
        : `${what} is missing`;
    throw new UsageError(`${why}.\n\n${usage}`);
  }
  return parsed;
}
