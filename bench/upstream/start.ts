import { join } from 'node:path';
import { freePort, type Processes, untilAnswers } from '../processes.ts';

/** The model providers of the bench, running. */
export interface Upstream {
  readonly url: string;
  /** The same over TLS, and the file with the certificate it shows. */
  readonly secureUrl: string;
  readonly certificate: string;
  readonly pid: number;
  end(): Promise<void>;
}

export async function startUpstream(processes: Processes, folder: string, core?: number): Promise<Upstream> {
  const port = freePort();
  const securePort = freePort();
  const certificate = join(folder, `upstream-${port}.pem`);
  const script = join(import.meta.dir, 'main.ts');
  const command = [process.execPath, script, String(port), String(securePort), certificate];
  const running = processes.start({ name: 'upstream', command, core });
  const url = `http://127.0.0.1:${port}`;
  await untilAnswers(`${url}/ready`, running);
  return { url, secureUrl: `https://localhost:${securePort}`, certificate, pid: running.pid, end: running.end };
}
