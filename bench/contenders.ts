import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lab } from './lab.ts';
import { processTree } from './proc.ts';
import { freePort, type Running, untilAnswers } from './processes.ts';
import { chatRequest, streamRequest } from './prompt.ts';
import { output } from './tools.ts';

export type ContenderName = 'nginx' | 'portkey' | 'gateway';

/** A proxy under test, running. */
export interface Contender {
  readonly name: ContenderName;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The process whose CPU and memory count, with everything it starts. */
  readonly pid: number;
  /** What it says about its own work that belongs beside the numbers. */
  ownAccount?(): Promise<string>;
  end(): Promise<void>;
}

export const labels: Readonly<Record<ContenderName | 'direct', string>> = {
  direct: 'direct',
  nginx: 'nginx',
  portkey: 'Portkey gateway',
  gateway: 'Gateway (ours)',
};

const CHAT = '/v1/chat/completions';
const json = { 'content-type': 'application/json' };

export const direct = (lab: Lab) => ({ url: `${lab.upstream}${CHAT}`, headers: json });

export const start: Readonly<Record<ContenderName, (lab: Lab) => Promise<Contender>>> = {
  nginx: startNginx,
  portkey: startPortkey,
  gateway: startGateway,
};

async function startNginx(lab: Lab): Promise<Contender> {
  const port = freePort();
  const folder = join(lab.folder, `nginx-${port}`);
  mkdirSync(folder, { recursive: true });
  const built = await output([lab.tools.nginx, '-V']);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .filter((part) => !built.includes(`--without-http_${part}_module`))
    .map((part) => `${part}_temp_path ${folder}/${part};`);
  const configuration = `
    daemon off;
    worker_processes 1;
    worker_rlimit_nofile 16384;
    pid ${folder}/pid;
    error_log ${folder}/error.log error;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events { worker_connections 8192; }
    http {
      access_log off;
      ${temporary.join('\n      ')}
      client_body_buffer_size 128k;
      keepalive_requests 1000000000;
      upstream provider {
        server ${new URL(lab.upstream).host};
        keepalive 1024;
        keepalive_requests 1000000000;
      }
      server {
        listen 127.0.0.1:${port};
        location = /ready { return 200; }
        location / {
          proxy_pass http://provider;
          proxy_http_version 1.1;
          proxy_set_header connection "";
          proxy_buffering off;
          proxy_read_timeout 1h;
        }
      }
    }`;
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration);
  const command = [lab.tools.nginx, '-c', file, '-e', `${folder}/error.log`];
  const running = lab.processes.start({ name: 'nginx', command, core: lab.cores.proxy });
  await untilAnswers(`http://127.0.0.1:${port}/ready`, running);
  const worker = processTree(running.pid).find(({ parent }) => parent === running.pid);
  if (!worker) throw new Error('nginx runs without a worker');
  return checked({
    name: 'nginx',
    url: `http://127.0.0.1:${port}${CHAT}`,
    headers: json,
    pid: worker.pid,
    end: running.end,
  });
}

async function startPortkey(lab: Lab): Promise<Contender> {
  const port = freePort();
  const running = lab.processes.start({
    name: 'portkey',
    command: [lab.tools.node, lab.tools.portkey, '--headless', `--port=${port}`],
    env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    core: lab.cores.proxy,
  });
  await untilAnswers(`http://127.0.0.1:${port}/`, running);
  return checked({
    name: 'portkey',
    url: `http://127.0.0.1:${port}${CHAT}`,
    headers: {
      ...json,
      authorization: 'Bearer sk-bench',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${lab.upstream}/v1`,
    },
    pid: running.pid,
    end: running.end,
  });
}

const ADMIN_KEY = 'bench-admin-key-0123456789';

export interface GatewayProcess {
  readonly origin: string;
  readonly running: Running;
  readonly readyAfterMs: number;
}

/** Starts the gateway and waits until it is ready, and no longer. */
export async function spawnGateway(lab: Lab, dataFolder: string, core?: number): Promise<GatewayProcess> {
  const port = freePort();
  const origin = `http://127.0.0.1:${port}`;
  const spawnedAt = performance.now();
  const running = lab.processes.start({
    name: 'gateway',
    command: [process.execPath, lab.gateway.entry],
    cwd: lab.gateway.root,
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      GATEWAY_DATA_DIR: dataFolder,
      GATEWAY_ADMIN_KEY: ADMIN_KEY,
      TRUSTED_CUSTOM_HOSTS: '127.0.0.1',
    },
    core,
  });
  await untilAnswers(`${origin}/ready`, running, 2);
  return { origin, running, readyAfterMs: performance.now() - spawnedAt };
}

async function startGateway(lab: Lab): Promise<Contender> {
  const { origin, running } = await spawnGateway(lab, join(lab.folder, `data-${freePort()}`), lab.cores.proxy);
  const caller = { ...json, 'x-gateway-api-key': ADMIN_KEY };
  const created = await fetch(`${origin}/v1/virtual-keys`, {
    method: 'POST',
    headers: caller,
    body: JSON.stringify({
      name: 'bench',
      slug: 'bench',
      provider: 'openai',
      key: 'sk-bench',
      custom_host: `${lab.upstream}/v1`,
    }),
  });
  if (!created.ok) {
    throw new Error(`the gateway refused the bench's virtual key with ${created.status}: ${await created.text()}`);
  }
  return checked({
    name: 'gateway',
    url: `${origin}${CHAT}`,
    headers: { ...caller, 'x-gateway-virtual-key': 'bench' },
    pid: running.pid,
    ownAccount: async () => {
      const metrics = await (await fetch(`${origin}/metrics`, { headers: caller })).text();
      const counts = metrics.split('\n').filter((line) => line.startsWith('gateway_log_'));
      return counts.length === 0
        ? 'Our gateway did not say what became of its log.'
        : `Our gateway on its log after the load: ${counts.map((line) => `\`${line}\``).join(', ')}.`;
    },
    end: running.end,
  });
}

/** Nothing is measured that does not relay a plain answer and a whole stream. */
async function checked(contender: Contender): Promise<Contender> {
  const ask = async (body: string): Promise<string> => {
    const response = await fetch(contender.url, { method: 'POST', headers: contender.headers, body });
    const text = await response.text();
    if (response.status !== 200) {
      throw new Error(`${labels[contender.name]} answered ${response.status}: ${text.slice(0, 500)}`);
    }
    return text;
  };
  const answer = await ask(chatRequest(300));
  if (!answer.includes('"total_tokens":120'))
    throw new Error(`${labels[contender.name]} changed the answer: ${answer}`);
  const events = (await ask(streamRequest(5, 1))).split('\n\n').filter((event) => event.startsWith('data:'));
  if (events.length !== 8 || events[7] !== 'data: [DONE]') {
    throw new Error(`${labels[contender.name]} relayed ${events.length} of 8 events of a stream`);
  }
  return contender;
}
