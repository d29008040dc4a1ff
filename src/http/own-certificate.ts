import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';

/** The files that a certificate and its private key stand in. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** What Bun serves TLS with. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface OwnCertificate {
  readonly current: Certificate;
  /** Looks at the files now. */
  refresh(): Promise<void>;
  close(): void;
}

/** How often a changed file is looked for: certificates are renewed days before they end. */
const EVERY_MS = 10_000;

/** The certificate of our own port, read again when its files change. One that cannot be used at the start is refused. */
export async function openCertificate(
  files: CertificateFiles,
  { onChange, onProblem }: { onChange: (next: Certificate) => void; onProblem: (problem: string | null) => void },
): Promise<OwnCertificate> {
  let version = await versionOf(files);
  let current = await read(files);
  let problem: string | null = null;

  const refresh = async () => {
    const found = await versionOf(files);
    if (found === version) return;
    try {
      const next = await read(files);
      version = found;
      if (problem !== null) onProblem(null);
      problem = null;
      if (next.cert === current.cert && next.key === current.key) return;
      current = next;
      onChange(next);
    } catch (error) {
      // Its two files are seldom written in one moment: it is looked at again, and told of once.
      const { message } = error as Error;
      if (message !== problem) onProblem(message);
      problem = message;
    }
  };
  const timer = setInterval(() => void refresh(), EVERY_MS);
  timer.unref();
  return {
    get current() {
      return current;
    },
    refresh,
    close: () => clearInterval(timer),
  };
}

async function versionOf({ certificate, key }: CertificateFiles): Promise<string> {
  const found = await Promise.all([certificate, key].map((path) => stat(path).catch(() => null)));
  return found.map((file) => file && `${file.ino} ${file.size} ${file.mtimeMs}`).join();
}

async function read({ certificate, key }: CertificateFiles): Promise<Certificate> {
  const pair = {
    cert: await contentOf('GATEWAY_TLS_CERT_FILE', certificate),
    key: await contentOf('GATEWAY_TLS_KEY_FILE', key),
  };
  const first = parsed('GATEWAY_TLS_CERT_FILE', certificate, 'a certificate', () => new X509Certificate(pair.cert));
  const own = parsed('GATEWAY_TLS_KEY_FILE', key, 'a private key without a password', () => createPrivateKey(pair.key));
  if (!first.checkPrivateKey(own))
    throw new Error(
      `GATEWAY_TLS_KEY_FILE ${key} is not the key of the certificate in GATEWAY_TLS_CERT_FILE ${certificate}.`,
    );
  return pair;
}

async function contentOf(setting: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`${setting} ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function parsed<Result>(setting: string, path: string, what: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new Error(`${setting} ${path} does not hold ${what} in PEM.`);
  }
}
