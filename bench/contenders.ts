import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { adminHeaders, CHAT, createVirtualKey, json, spawnGateway } from './gateway.ts';
import type { Lab } from './lab.ts';
import { processTree } from './proc.ts';
import { freePort, untilAnswers } from './processes.ts';
import { chatRequest, streamRequest } from './prompt.ts';
import { output } from './tools.ts';

export type ContenderName = 'nginx' | 'bare' | 'gateway' | 'portkey';

/** In the order of tables. */
export const contenderNames: readonly ContenderName[] = ['nginx', 'bare', 'gateway', 'portkey'];

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
  bare: 'bare Bun relay',
  portkey: 'Portkey gateway',
  gateway: 'Gateway (ours)',
};

export const direct = (lab: Lab) => ({ url: `${lab.upstream.url}${CHAT}`, headers: json });

export const start: Readonly<Record<ContenderName, (lab: Lab) => Promise<Contender>>> = {
  nginx: startNginx,
  bare: startBare,
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
        server ${new URL(lab.upstream.url).host};
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

async function startBare(lab: Lab): Promise<Contender> {
  const port = freePort();
  const command = [process.execPath, join(import.meta.dir, 'load/bare-relay.ts'), String(port), lab.upstream.url];
  const running = lab.processes.start({ name: 'bare', command, core: lab.cores.proxy });
  await untilAnswers(`http://127.0.0.1:${port}/ready`, running);
  const url = `http://127.0.0.1:${port}${CHAT}`;
  return checked({ name: 'bare', url, headers: json, pid: running.pid, end: running.end });
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
      'x-portkey-custom-host': `${lab.upstream.url}/v1`,
    },
    pid: running.pid,
    end: running.end,
  });
}

async function startGateway(lab: Lab): Promise<Contender> {
  const { origin, running } = await spawnGateway(lab, { core: lab.cores.proxy });
  await createVirtualKey(origin, 'bench', `${lab.upstream.url}/v1`);
  return checked({
    name: 'gateway',
    url: `${origin}${CHAT}`,
    headers: { ...adminHeaders, 'x-gateway-virtual-key': 'bench' },
    pid: running.pid,
    ownAccount: async () => {
      const metrics = await (await fetch(`${origin}/metrics`, { headers: adminHeaders })).text();
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
