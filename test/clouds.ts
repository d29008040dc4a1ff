import { selfSignedCertificate } from './certificate.ts';
import { serve } from './gateway.ts';

export interface CloudCall {
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

/** The metadata services of three clouds, and where their tokens are exchanged, at one address of this machine. */
export function startMetadata() {
  const asked: string[] = [];
  const state = { given: 0, lifeMs: 3_600_000, isAway: false };
  const key = () => {
    state.given++;
    const Expiration = new Date(Date.now() + state.lifeMs).toISOString();
    return {
      AccessKeyId: `ASIAMACHINE${String(state.given).padStart(6, '0')}`,
      SecretAccessKey: 'secret-of-the-machine',
      Expiration,
    };
  };
  const token = (kind: string) => {
    state.given++;
    return { access_token: `${kind}-machine-token-${state.given}`, expires_in: Math.floor(state.lifeMs / 1_000) };
  };
  const no = (status: number) => new Response('no', { status });

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const { headers } = request;
    asked.push(`${request.method} ${pathname}`);
    if (state.isAway) return no(503);
    const form = request.method === 'POST' ? new URLSearchParams(await request.clone().text()) : new URLSearchParams();
    switch (pathname) {
      case '/aws/latest/api/token':
        return request.method === 'PUT' && headers.get('x-aws-ec2-metadata-token-ttl-seconds')
          ? new Response('imds-session')
          : no(405);
      case '/aws/latest/meta-data/iam/security-credentials/':
        return headers.get('x-aws-ec2-metadata-token') === 'imds-session' ? new Response('gateway-role') : no(401);
      case '/aws/latest/meta-data/iam/security-credentials/gateway-role':
        return headers.get('x-aws-ec2-metadata-token') === 'imds-session'
          ? Response.json({ Code: 'Success', ...key(), Token: 'session-of-the-machine' })
          : no(401);
      case '/container/v1/credentials':
        return headers.get('authorization') === 'token-of-the-pod'
          ? Response.json({ ...key(), Token: 'session-of-the-pod' })
          : no(403);
      case '/sts/': {
        if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('WebIdentityToken') !== 'token-of-the-pod')
          return no(400);
        const Credentials = { ...key(), SessionToken: 'session-of-the-role' };
        return Response.json({
          AssumeRoleWithWebIdentityResponse: { AssumeRoleWithWebIdentityResult: { Credentials } },
        });
      }
      case '/google/computeMetadata/v1/instance/service-accounts/default/token':
        return headers.get('metadata-flavor') === 'Google' ? Response.json(token('google')) : no(403);
      case '/google-sts/v1/token':
        return form.get('subject_token') === 'token-of-the-pod' && form.get('audience') === '//iam.googleapis.com/pool'
          ? Response.json({ access_token: 'federated', expires_in: 3_600 })
          : no(400);
      case '/google-iam/v1/projects/-/serviceAccounts/llm@project.iam.gserviceaccount.com:generateAccessToken':
        return headers.get('authorization') === 'Bearer federated'
          ? Response.json({
              accessToken: 'google-account-token',
              expireTime: new Date(Date.now() + 3_600_000).toISOString(),
            })
          : no(401);
      case '/azure/metadata/identity/oauth2/token': {
        const kinds: Record<string, string> = {
          'https://cognitiveservices.azure.com': 'azure',
          'https://vault.azure.net': 'azure-vault',
        };
        const kind = kinds[searchParams.get('resource') ?? ''];
        return headers.get('metadata') === 'true' && kind
          ? Response.json({ ...token(kind), client_id: searchParams.get('client_id') })
          : no(400);
      }
      case '/login/tenant-1/oauth2/v2.0/token':
        return form.get('client_assertion') === 'token-of-the-pod' &&
          form.get('scope') === 'https://cognitiveservices.azure.com/.default'
          ? Response.json(token('entra'))
          : no(401);
      default:
        return no(404);
    }
  };
  const { origin, stop } = serve(answer);
  return { origin: origin.replace('127.0.0.1', 'localhost'), asked, state, stop };
}

/** Servers with certificates for hosts of clouds, to which a proxy may lead. */
export function startCloudHosts(hosts: readonly string[]) {
  const calls: CloudCall[] = [];
  const authorities: string[] = [];
  const ports = new Map<string, number>();
  const servers = hosts.map((host) => {
    const { key, cert } = selfSignedCertificate(host);
    authorities.push(cert);
    const server = Bun.serve({
      ...{ port: 0, hostname: '127.0.0.1', tls: { key, cert } },
      fetch: (request) => {
        calls.push({ host, method: request.method, path: new URL(request.url).pathname, headers: request.headers });
        return Response.json({ arrived: host });
      },
    });
    ports.set(host, server.port!);
    return server;
  });
  return {
    calls,
    authorities: authorities.join('\n'),
    lead: (target: string) => ports.get(target.slice(0, target.lastIndexOf(':'))) ?? 9,
    stop: () => servers.map((server) => server.stop(true)),
  };
}
