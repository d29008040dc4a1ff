import { SEMCONVS, type Semconv } from './names.ts';
import { SAMPLERS, type SamplerName, type SamplerSettings } from './sampler.ts';

/** The variables that OpenTelemetry knows, and ours beside them; `src/settings.ts` lists them with the others. */
export const otelVariables = {
  OTEL_SDK_DISABLED: 'whether nothing is exported, whatever else is set',
  OTEL_SERVICE_NAME: 'name of this service in traces and metrics',
  OTEL_RESOURCE_ATTRIBUTES: 'what else is said of this service',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'where traces and metrics are sent',
  OTEL_EXPORTER_OTLP_HEADERS: 'headers that are sent along',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'form in which they are sent',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'whether they are compressed',
  OTEL_EXPORTER_OTLP_TIMEOUT: 'how long one request to a destination may take',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'the same for traces alone',
  OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'the same for traces alone',
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'the same for traces alone',
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'the same for traces alone',
  OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: 'the same for traces alone',
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'the same for metrics alone',
  OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'the same for metrics alone',
  OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'the same for metrics alone',
  OTEL_EXPORTER_OTLP_METRICS_COMPRESSION: 'the same for metrics alone',
  OTEL_EXPORTER_OTLP_METRICS_TIMEOUT: 'the same for metrics alone',
  OTEL_TRACES_EXPORTER: 'whether traces are sent',
  OTEL_METRICS_EXPORTER: 'whether metrics are sent',
  OTEL_METRIC_EXPORT_INTERVAL: 'pause between two exports of metrics',
  OTEL_TRACES_SAMPLER: 'which traces are sent',
  OTEL_TRACES_SAMPLER_ARG: 'what part of them',
  OTEL_BSP_SCHEDULE_DELAY: 'longest time that a span waits for others',
  OTEL_BSP_MAX_QUEUE_SIZE: 'most spans that wait for one destination',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'most spans in one request',
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'whether spans hold what was said',
  GATEWAY_OTEL_DESTINATIONS_FILE: 'file that names several destinations',
  GATEWAY_OTEL_SEMCONV: 'version of the GenAI names',
  GATEWAY_OTEL_KEEP_ERRORS: 'whether failed calls are sent that the sampler leaves out',
  GATEWAY_OTEL_SLOW_MS: 'age from which calls are sent that the sampler leaves out',
} as const;

export type OtelVariable = keyof typeof otelVariables;

export const SIGNALS = ['traces', 'metrics'] as const;
export type Signal = (typeof SIGNALS)[number];
export const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where one signal goes. It travels to the thread, so it is plain data; headers hold secrets and are shown nowhere. */
export interface Destination {
  /** What the operator calls it, in `/health` and metrics. */
  readonly name: string;
  readonly signal: Signal;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly protocol: Protocol;
  readonly isCompressed: boolean;
  readonly timeoutMs: number;
}

export interface OtelSettings {
  readonly destinations: readonly Destination[];
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerSettings;
  readonly keepsErrors: boolean;
  /** Null: no call is slow. */
  readonly slowMs: number | null;
  readonly delayMs: number;
  readonly queueSize: number;
  readonly batchSize: number;
  readonly metricsEveryMs: number;
  readonly semconv: Semconv;
  readonly hasContent: boolean;
}

type Get = (name: OtelVariable) => string | undefined;
type Refuse = (name: OtelVariable, fault: string, form: string) => never;

export interface OtelReading {
  readonly get: Get;
  readonly refuse: Refuse;
  /** What the file holds that a variable names. */
  readonly readFile: (path: string) => string;
}

/** Null: nothing is exported. */
export function readOtel(reading: OtelReading): OtelSettings | null {
  const { get, refuse } = reading;
  const oneOf = <Value extends string>(name: OtelVariable, values: readonly Value[], fallback: Value): Value => {
    const value = get(name) ?? fallback;
    return values.find((each) => each === value) ?? refuse(name, `is "${value}"`, `give one of ${values.join(', ')}`);
  };
  const flag = (name: OtelVariable, fallback: boolean) => {
    const value = get(name)?.toLowerCase() ?? String(fallback);
    if (value !== 'true' && value !== 'false') refuse(name, `is "${value}"`, 'give true or false');
    return value === 'true';
  };
  const whole = (name: OtelVariable, fallback: number, min: number, max: number) => {
    const value = get(name);
    if (value === undefined) return fallback;
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max
      ? number
      : refuse(name, `is "${value}"`, `give a whole number from ${min} to ${max}`);
  };
  const isOff = flag('OTEL_SDK_DISABLED', false);
  const wanted = SIGNALS.filter((signal) => {
    const name = `OTEL_${signal.toUpperCase() as Uppercase<Signal>}_EXPORTER` as const;
    return oneOf(name, ['otlp', 'none'], 'otlp') === 'otlp';
  });
  const destinations = [...standardDestinations(reading), ...listedDestinations(reading)].filter(({ signal }) =>
    wanted.includes(signal),
  );
  const resource = pairsOf(get('OTEL_RESOURCE_ATTRIBUTES'), () =>
    refuse('OTEL_RESOURCE_ATTRIBUTES', 'is not of that form', 'give a comma list such as deployment.environment=prod'),
  );
  const queueSize = whole('OTEL_BSP_MAX_QUEUE_SIZE', 16_384, 1, 1_000_000);
  const settings: OtelSettings = {
    destinations,
    serviceName: get('OTEL_SERVICE_NAME') ?? resource['service.name'] ?? 'gateway',
    resource,
    sampler: samplerOf(get, refuse),
    keepsErrors: flag('GATEWAY_OTEL_KEEP_ERRORS', true),
    slowMs: whole('GATEWAY_OTEL_SLOW_MS', 0, 0, 86_400_000) || null,
    delayMs: whole('OTEL_BSP_SCHEDULE_DELAY', 1_000, 10, 600_000),
    queueSize,
    batchSize: Math.min(queueSize, whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1_024, 1, 16_384)),
    metricsEveryMs: whole('OTEL_METRIC_EXPORT_INTERVAL', 60_000, 100, 3_600_000),
    semconv: oneOf('GATEWAY_OTEL_SEMCONV', SEMCONVS, '1.41'),
    hasContent: flag('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', false),
  };
  return isOff || destinations.length === 0 ? null : settings;
}

function samplerOf(get: Get, refuse: Refuse): SamplerSettings {
  const given = get('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const name: SamplerName =
    SAMPLERS.find((each) => each === given) ??
    refuse('OTEL_TRACES_SAMPLER', `is "${given}"`, `give one of ${SAMPLERS.join(', ')}`);
  const text = get('OTEL_TRACES_SAMPLER_ARG');
  const ratio = text === undefined ? 1 : /^(?:\d+(?:\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  if (name.endsWith('traceidratio') && !(ratio >= 0 && ratio <= 1))
    refuse('OTEL_TRACES_SAMPLER_ARG', `is "${text}"`, 'give a number from 0 to 1, such as 0.1');
  return { name, ratio };
}

const NAMES = ['ENDPOINT', 'HEADERS', 'PROTOCOL', 'COMPRESSION', 'TIMEOUT'] as const;
const DEFAULT_TIMEOUT_MS = 10_000;

/** The one destination of the standard variables; what is said of one signal stands before what is said of both. */
function standardDestinations({ get, refuse }: OtelReading): Destination[] {
  return SIGNALS.flatMap((signal) => {
    const own = signal.toUpperCase() as Uppercase<Signal>;
    const nameOf = (name: (typeof NAMES)[number]): OtelVariable => {
      const special = `OTEL_EXPORTER_OTLP_${own}_${name}` as const;
      return get(special) === undefined ? (`OTEL_EXPORTER_OTLP_${name}` as const) : special;
    };
    const endpointName = nameOf('ENDPOINT');
    const endpoint = get(endpointName);
    if (endpoint === undefined) return [];
    const isWhole = endpointName !== 'OTEL_EXPORTER_OTLP_ENDPOINT';
    const url = urlIn(endpoint, signal, isWhole);
    if (url === null) return refuse(endpointName, 'is not a usable address', 'give one such as http://localhost:4318');
    const protocolName = nameOf('PROTOCOL');
    const protocol = get(protocolName) ?? PROTOCOLS[0];
    const compressionName = nameOf('COMPRESSION');
    const compression = get(compressionName) ?? 'gzip';
    if (compression !== 'gzip' && compression !== 'none')
      refuse(compressionName, `is "${compression}"`, 'give gzip or none');
    const timeoutName = nameOf('TIMEOUT');
    const timeout = get(timeoutName) ?? String(DEFAULT_TIMEOUT_MS);
    if (!/^[1-9]\d{0,6}$/.test(timeout))
      refuse(timeoutName, `is "${timeout}"`, 'give a whole number of milliseconds from 1 to 9999999');
    const headersName = nameOf('HEADERS');
    return [
      {
        name: 'default',
        signal,
        url,
        headers: headersIn(
          pairsOf(get(headersName), () => refuse(headersName, 'is not of that form', HEADERS_FORM)),
          () => refuse(headersName, 'holds a header that cannot be sent', HEADERS_FORM),
        ),
        protocol:
          PROTOCOLS.find((each) => each === protocol) ??
          refuse(protocolName, `is "${protocol}"`, `give ${PROTOCOLS.join(' or ')}`),
        isCompressed: compression === 'gzip',
        timeoutMs: Number(timeout),
      },
    ];
  });
}

const HEADERS_FORM = 'give a comma list such as authorization=Basic%20abc,x-scope=team';
const FILE = 'GATEWAY_OTEL_DESTINATIONS_FILE';
const FILE_FORM =
  'give the path of a JSON list of objects with name, endpoint and, where wanted, headers, protocol, compression, timeout and signals';
const MEMBERS = ['name', 'endpoint', 'headers', 'protocol', 'compression', 'timeout', 'signals'];
const DESTINATION_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const MOST_DESTINATIONS = 8;

function listedDestinations({ get, refuse, readFile }: OtelReading): Destination[] {
  const path = get(FILE);
  if (path === undefined) return [];
  const wrong = (fault: string): never => refuse(FILE, fault, FILE_FORM);
  let list: unknown;
  try {
    list = JSON.parse(readFile(path));
  } catch {
    return wrong('names a file that cannot be read as JSON');
  }
  if (!Array.isArray(list) || list.length === 0) return wrong('names a file that holds no list');
  if (list.length > MOST_DESTINATIONS) return wrong(`names more than ${MOST_DESTINATIONS} destinations`);
  const names = new Set<string>(['default']);
  return list.flatMap((each: unknown, at): Destination[] => {
    const place = `entry ${at + 1}`;
    if (each === null || typeof each !== 'object' || Array.isArray(each))
      return wrong(`has ${place} that is no object`);
    const given = each as Readonly<Record<string, unknown>>;
    const unknown = Object.keys(given).find((name) => !MEMBERS.includes(name));
    if (unknown !== undefined) return wrong(`has ${place} with an unknown member "${unknown}"`);
    const { name, endpoint, headers = {}, protocol = PROTOCOLS[0], compression = 'gzip' } = given;
    const { timeout = DEFAULT_TIMEOUT_MS, signals = SIGNALS } = given;
    if (typeof name !== 'string' || !DESTINATION_NAME.test(name))
      return wrong(`has ${place} without a name of lower-case letters, digits, - and _`);
    if (names.has(name)) return wrong(`has a second entry with the name "${name}"`);
    names.add(name);
    const isKnown =
      PROTOCOLS.find((known) => known === protocol) ??
      wrong(`has "${name}" with another protocol than ${PROTOCOLS.join(' or ')}`);
    if (compression !== 'gzip' && compression !== 'none')
      wrong(`has "${name}" with another compression than gzip or none`);
    if (typeof timeout !== 'number' || !Number.isSafeInteger(timeout) || timeout < 1 || timeout > 9_999_999)
      wrong(`has "${name}" with a timeout that is no number of milliseconds from 1 to 9999999`);
    if (
      headers === null ||
      typeof headers !== 'object' ||
      !Object.values(headers).every((value) => typeof value === 'string')
    )
      wrong(`has "${name}" with headers that are no object of texts`);
    const asked = SIGNALS.filter((signal) => Array.isArray(signals) && signals.includes(signal));
    if (!Array.isArray(signals) || asked.length === 0 || asked.length !== signals.length)
      wrong(`has "${name}" with other signals than ${SIGNALS.join(' and ')}`);
    return asked.map((signal) => ({
      name,
      signal,
      url:
        (typeof endpoint === 'string' ? urlIn(endpoint, signal, false) : null) ??
        wrong(`has "${name}" without a usable endpoint`),
      headers: headersIn(headers as Record<string, string>, () =>
        wrong(`has "${name}" with a header that cannot be sent`),
      ),
      protocol: isKnown,
      isCompressed: compression === 'gzip',
      timeoutMs: timeout as number,
    }));
  });
}

/** A base address gets the path of its signal; the address of one signal is taken as it is. */
function urlIn(endpoint: string, signal: Signal, isWhole: boolean): string | null {
  const url = URL.parse(endpoint);
  if (!url?.hostname || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username || url.password)
    return null;
  if (isWhole) return url.href;
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${signal}`;
  return url.href;
}

/** `key=value,key=value`, percent-encoded, as W3C's baggage has it. */
function pairsOf(text: string | undefined, wrong: () => never): Readonly<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const pair of (text ?? '').split(',')) {
    if (pair.trim() === '') continue;
    const equals = pair.indexOf('=');
    if (equals < 1) return wrong();
    try {
      pairs[decodeURIComponent(pair.slice(0, equals).trim())] = decodeURIComponent(pair.slice(equals + 1).trim());
    } catch {
      return wrong();
    }
  }
  return pairs;
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\x20-\x7e\t]*$/;
/** Set by the exporter itself. */
const OUR_HEADERS = ['content-type', 'content-encoding', 'content-length', 'host', 'transfer-encoding', 'connection'];

function headersIn(given: Readonly<Record<string, string>>, wrong: () => never): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value) || OUR_HEADERS.includes(lower)) return wrong();
    headers[lower] = value;
  }
  return headers;
}
