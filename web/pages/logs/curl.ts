import type { LogDetail } from './entries.ts';

/** In single quotes nothing means anything to a shell, but for the quote. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Those of the connection are curl's own affair, and what was blanked out cannot be sent again. */
const LEFT_OUT =
  /^(host|connection|content-length|accept-encoding|user-agent|accept|sec-.*|origin|referer|traceparent|x-forwarded-.*|cookie|x-gateway-csrf|priority|accept-language)$/i;
const KEYS = /^(authorization|x-gateway-api-key|x-api-key|api-key|x-goog-api-key)$/i;

/** The call once more, as a command: with `$GATEWAY_KEY` where its key stood. */
export function curlOf({ method, path, request }: LogDetail): string {
  const kept = Object.entries(request?.headers ?? {}).filter(([name]) => !LEFT_OUT.test(name) && !KEYS.test(name));
  const sent = kept.filter(([, value]) => value !== '[redacted]');
  const lines = [
    `curl ${quoted(location.origin + path)}${method === 'POST' ? '' : ` -X ${method}`}`,
    '-H "x-gateway-api-key: $GATEWAY_KEY"',
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
  ];
  if (request?.body && request.encoding === 'utf8') lines.push(`--data-binary ${quoted(request.body)}`);
  const command = lines.join(' \\\n  ');
  return request?.truncated ? `# The body is cut: it was longer than what the log keeps.\n${command}` : command;
}
