/** A program that the operator allows as an MCP server: owners of servers choose among these, and can run nothing else. */
export interface AllowedProgram {
  /** Its whole path. */
  readonly command: string;
  /** The arguments that it always begins with. */
  readonly args: readonly string[];
  /** Whether an owner may give more, after those. */
  readonly takesMore: boolean;
  /** Variables of the environment that an owner may give. */
  readonly env: readonly string[];
  /** Variables that the operator gives. */
  readonly set: Readonly<Record<string, string>>;
}

/** The user that a program runs as. Of a range, each has one of its own while it runs. */
export interface ProgramUser {
  readonly first: number;
  readonly last: number;
  readonly group: number;
}

/** What the operator says about programs that the gateway runs. */
export interface ProgramSettings {
  readonly allowed: readonly AllowedProgram[];
  /** Null: the gateway's own. */
  readonly user: ProgramUser | null;
  /** At once, on this node. */
  readonly most: number;
  readonly memoryMb: number;
  /** How long one runs that is not used. */
  readonly idleMs: number;
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** With these, an owner would decide what is run: by an option of the interpreter, a library or another path. */
const STEERING =
  /^(?:LD_|DYLD_|NODE_|PYTHON|PERL|RUBY|BASH|BUN_|DENO_|NPM_|UV_|PIP_|GIT_|_?JAVA_|DOTNET_|GCONV_|PATH$|ENV$|HOME$|SHELL$|IFS$|TMPDIR$|MCP_USER_)/i;
/** With arguments of an owner's choice, these run whatever the owner wants. */
const RUNS_ANYTHING =
  /^(?:(?:ba|da|z|k|c|tc|fi)?sh|busybox|node|nodejs|bun|bunx|deno|npx|npm|pnpm|yarn|uvx?|pipx?3?|(?:python|pypy|perl|ruby|php|lua)[\d.]*|env|sudo|su|doas|xargs|find|nice|nohup|setsid|timeout|docker|podman|ssh|java|dotnet|go|make|g?awk|unshare|nsenter|chroot|systemd-run)$/;
const MOST_TEXT = 4_096;

/** A text says what is wrong. */
export function readAllowedPrograms(text: string): readonly AllowedProgram[] | string {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return 'is no JSON';
  }
  if (!Array.isArray(given)) return 'is no list';
  const read: AllowedProgram[] = [];
  for (const [index, each] of given.entries()) {
    const program = readProgram(typeof each === 'string' ? { command: each } : each);
    if (typeof program === 'string') return `is wrong at [${index}]${program}`;
    read.push(program);
  }
  return read;
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string' && isArgument(each));
/** What a program can be started with. */
export const isArgument = (text: string): boolean => text.length <= MOST_TEXT && !text.includes('\0');

function readProgram(given: unknown): AllowedProgram | string {
  if (given === null || typeof given !== 'object' || Array.isArray(given))
    return ': it is neither a path nor an object';
  const {
    command,
    args = [],
    more_args: takesMore = false,
    env = [],
    set = {},
    ...others
  } = given as Record<string, unknown>;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `.${unknown}: there is no such member`;
  if (typeof command !== 'string' || !isWholePath(command)) return '.command: it is no whole path without . and ..';
  if (!isTexts(args)) return '.args: it is no list of texts';
  if (typeof takesMore !== 'boolean') return '.more_args: it is neither true nor false';
  if (takesMore && args.length === 0 && RUNS_ANYTHING.test(command.slice(command.lastIndexOf('/') + 1)))
    return '.more_args: with arguments of their choice, owners of servers could run anything with this program';
  if (!isTexts(env) || !env.every((name) => VARIABLE.test(name))) return '.env: it is no list of names of variables';
  const steering = env.find((name) => STEERING.test(name));
  if (steering !== undefined)
    return `.env: with ${steering}, owners of servers could run anything; it may stand in set`;
  if (set === null || typeof set !== 'object' || Array.isArray(set)) return '.set: it is no object';
  for (const [name, value] of Object.entries(set))
    if (!VARIABLE.test(name) || typeof value !== 'string' || !isArgument(value))
      return `.set: ${name} is no variable with a text`;
  return { command, args, takesMore, env, set: set as Record<string, string> };
}

const isWholePath = (path: string): boolean =>
  path.startsWith('/') &&
  isArgument(path) &&
  path
    .slice(1)
    .split('/')
    .every((part) => part !== '' && part !== '.' && part !== '..');

/** What an owner asks for, letter by letter; null: the operator does not allow it. */
export function findAllowed(
  programs: readonly AllowedProgram[],
  { command, args }: { readonly command: string; readonly args: readonly string[] },
): AllowedProgram | null {
  const fits = (each: AllowedProgram) =>
    each.command === command &&
    each.args.every((arg, index) => arg === args[index]) &&
    (each.takesMore || each.args.length === args.length);
  return programs.find(fits) ?? null;
}
