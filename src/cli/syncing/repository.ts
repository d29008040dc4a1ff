import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { readAt } from './folder.ts';
import { HEAD_BYTES, type LeftOut, obstacleTo, requireFew, type Source, type SourceFile } from './source.ts';

export interface RepositoryOptions {
  /** A branch, a tag or a commit; null: what the repository shows first. */
  readonly ref: string | null;
  /** The folder of the repository that is meant; '': all of it. */
  readonly below: string;
  /** For https addresses: given to git by its environment, which other users of the machine cannot read. */
  readonly token: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const FILE_MODES = new Set(['100644', '100755']);
const LFS = 'version https://git-lfs.github.com/spec/v1';

/** Files of one commit of a git repository. */
export async function repositorySource(given: string, options: RepositoryOptions): Promise<Source> {
  const { place, name } = placeOf(given, options.token !== null);
  const { ref, below } = options;
  if (ref !== null && !/^[A-Za-z0-9_][\w./@+-]{0,200}$/.test(ref))
    throw new Error(`--ref ${JSON.stringify(ref)} is not the name of a branch, a tag or a commit.`);
  if (below !== '' && below.split('/').some((part) => part === '' || part === '.' || part === '..'))
    throw new Error(`--path ${JSON.stringify(below)} is not a path within a repository, such as docs/guides.`);
  const home = mkdtempSync(join(tmpdir(), 'gateway-sync-'));
  const close = () => rmSync(home, { recursive: true, force: true });
  process.once('exit', close);
  const git = (...rest: string[]) => runGit(home, rest, { ...options, place });
  try {
    await git('init', '--quiet', '--bare', '.');
    await git('fetch', '--quiet', '--depth=1', '--no-tags', '--no-recurse-submodules', '--', place, ref ?? 'HEAD');
    const commit = (await git('rev-parse', '--verify', 'FETCH_HEAD^{commit}')).toString().trim();
    let temporary = 0;

    /** The bytes of a blob, in a file of ours. */
    const blobAt = async (id: string): Promise<string> => {
      const at = join(home, `blob-${++temporary}`);
      const child = Bun.spawn(['git', '-C', home, 'cat-file', 'blob', id], {
        ...{ env: environmentFor(options, place), stdin: 'ignore', stdout: Bun.file(at), stderr: 'ignore' },
      });
      if ((await child.exited) !== 0) throw new Error(`git could not read ${id} of ${name}.`);
      return at;
    };

    const ids = new Map<string, string>();
    return {
      name: below === '' ? name : `${name}#${below}`,
      list: async (choice) => {
        const files: SourceFile[] = [];
        const leftOut: LeftOut[] = [];
        const tree = below === '' ? commit : `${commit}:${below}`;
        const listed = await git('ls-tree', '-r', '-z', '-l', '--end-of-options', tree).catch(() => {
          throw new Error(`${given} has no folder ${below} at ${ref ?? 'HEAD'}.`);
        });
        const wanted: { path: string; id: string; bytes: number }[] = [];
        for (const line of listed.toString('utf8').split('\0')) {
          const [, mode, , id, size, path] = /^(\d+) (\w+) (\w+) +(\S+)\t([\s\S]+)$/.exec(line) ?? [];
          if (path === undefined || !choice.takes(path)) continue;
          if (!FILE_MODES.has(mode!)) {
            const why = mode === '120000' ? 'is a link' : 'is another repository';
            leftOut.push({ path, why, isFault: false });
            continue;
          }
          const obstacle = obstacleTo(path, Number(size));
          if (obstacle) leftOut.push(obstacle);
          else wanted.push({ path, id: id!, bytes: Number(size) });
          requireFew(wanted.length);
        }
        for await (const { path, ...read } of readBlobs(home, wanted, environmentFor(options, place))) {
          const { id, ...rest } = read;
          if (new TextDecoder().decode(rest.head.subarray(0, LFS.length)) === LFS) {
            leftOut.push({ path, why: 'is a pointer of Git LFS: its content is not in the repository', isFault: true });
            continue;
          }
          ids.set(path, id);
          files.push({ path, ...rest });
        }
        return { files, leftOut };
      },
      fetch: async ({ path }) => {
        const at = await blobAt(ids.get(path)!);
        return { at, ...(await readAt(at)), release: () => rmSync(at, { force: true }) };
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Where git fetches from, and the name that is the same on every machine, without any credential. */
function placeOf(given: string, hasToken: boolean): { place: string; name: string } {
  if (/^[a-z][a-z0-9+.-]*::/i.test(given)) throw new Error(`"${given}" is not an address of a git repository.`);
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(given) ? URL.parse(given) : null;
  if (url) {
    if (!['https:', 'http:', 'ssh:', 'file:'].includes(url.protocol))
      throw new Error(
        `A git repository is at an https, ssh or file address, or in a folder; not at ${url.protocol}//.`,
      );
    if (url.password || (url.username && url.protocol !== 'ssh:'))
      throw new Error(
        'The address of the repository holds a credential, which other users of this machine and logs would see. Set GATEWAY_SYNC_GIT_TOKEN, or let a credential helper of git give it.',
      );
    if (url.protocol === 'http:' && hasToken && !/^(?:127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname))
      throw new Error(`${url.origin} would get GATEWAY_SYNC_GIT_TOKEN in clear; give an https address.`);
    return { place: given, name: `git:${url.host}${url.pathname.replace(/\/+$|\.git$/g, '')}` };
  }
  // git@host:path
  const short = /^[\w.-]+@([\w.-]+):(?!\/\/)(.+)$/.exec(given);
  if (short) return { place: given, name: `git:${short[1]}/${short[2]!.replace(/\.git$/, '')}` };
  const folder = resolve(given);
  if (!existsSync(folder)) throw new Error(`There is no git repository at ${given}.`);
  return { place: folder, name: `git:${folder.slice(folder.lastIndexOf('/') + 1)}` };
}

/** git without questions, without protocols that run programs, and with the token where it belongs alone. */
function environmentFor({ environment, token }: RepositoryOptions, place: string): Record<string, string> {
  const kept = Object.entries(environment).filter(
    ([name, value]) =>
      value !== undefined && !/^GATEWAY_|^GIT_(?:DIR|WORK_TREE|INDEX_FILE|CONFIG_(?:COUNT|KEY|VALUE))/.test(name),
  ) as [string, string][];
  const url = URL.parse(place);
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:';
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:file',
    LC_ALL: 'C',
    ...(token !== null &&
      isHttp && {
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: `http.${url.origin}/.extraHeader`,
        GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`,
      }),
  };
}

async function runGit(
  home: string,
  rest: readonly string[],
  options: RepositoryOptions & { place: string },
): Promise<Buffer> {
  let child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>;
  try {
    child = Bun.spawn(['git', ...rest], {
      ...{ cwd: home, env: environmentFor(options, options.place), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
    });
  } catch {
    throw new Error('The program git is not found on this machine.');
  }
  const [output, errors, code] = await Promise.all([child.stdout.bytes(), child.stderr.text(), child.exited]);
  if (code === 0) return Buffer.from(output);
  const said = errors.trim().split('\n').at(-1) ?? '';
  const word = options.token === null ? said : said.replaceAll(options.token, '[secret]');
  throw new Error(`git ${rest[0]} failed with ${code}: ${word.slice(0, 500)}`);
}

interface ReadBlob extends Omit<SourceFile, 'head'> {
  readonly id: string;
  readonly head: Uint8Array;
}

/** The digest and the beginning of blobs, by one process of git for all. */
async function* readBlobs(
  home: string,
  wanted: readonly { path: string; id: string; bytes: number }[],
  env: Record<string, string>,
): AsyncGenerator<ReadBlob> {
  if (wanted.length === 0) return;
  const list = join(home, 'wanted');
  await Bun.write(list, wanted.map(({ id }) => `${id}\n`).join(''));
  const input = await open(list);
  const child = Bun.spawn(['git', '-C', home, 'cat-file', '--batch'], {
    ...{ env, stdin: input.fd, stdout: 'pipe', stderr: 'ignore' },
  });
  const reader = exactly(child.stdout as ReadableStream<Uint8Array>);
  try {
    for (const { path, id, bytes } of wanted) {
      const line = await reader.line();
      if (line !== `${id} blob ${bytes}`) throw new Error(`git could not read ${path}.`);
      const hash = createHash('sha256');
      let head = Buffer.alloc(0);
      for await (const piece of reader.take(bytes)) {
        hash.update(piece);
        if (head.byteLength < HEAD_BYTES) head = Buffer.concat([head, piece.subarray(0, HEAD_BYTES - head.byteLength)]);
      }
      await reader.line();
      yield { path, id, bytes, digest: `sha256:${hash.digest('hex')}`, head };
    }
  } finally {
    child.kill();
    await input.close();
  }
}

/** Reads lines and counted bytes from one stream. */
function exactly(stream: ReadableStream<Uint8Array>) {
  const pieces = stream.getReader();
  let rest: Uint8Array = new Uint8Array();
  const more = async () => {
    const { done, value } = await pieces.read();
    if (done) throw new Error('git ended before it had given everything.');
    rest = rest.byteLength === 0 ? value : Buffer.concat([rest, value]);
  };
  return {
    async line(): Promise<string> {
      for (let at = rest.indexOf(10); ; at = rest.indexOf(10)) {
        if (at >= 0) {
          const text = new TextDecoder().decode(rest.subarray(0, at));
          rest = rest.subarray(at + 1);
          return text;
        }
        await more();
      }
    },
    async *take(bytes: number): AsyncGenerator<Uint8Array> {
      for (let left = bytes; left > 0; ) {
        if (rest.byteLength === 0) await more();
        const piece = rest.subarray(0, left);
        rest = rest.subarray(piece.byteLength);
        left -= piece.byteLength;
        yield piece;
      }
    },
  };
}
