import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { type ErrorCode, GatewayError } from '../core/errors.ts';
import { refuseForbidden } from '../core/forbidden.ts';
import { isInline } from '../http/forbidden-headers.ts';
import { flagOf, type SentHeaders } from '../http/headers.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import type { Breakers } from '../routing/breaker.ts';
import type { Configs } from '../routing/configs.ts';
import { NO_SETTINGS, type Plan, type TargetSettings, type TargetStep } from '../routing/plan.ts';
import { selectProvider, selectRoute } from '../routing/select.ts';
import { runPlan } from '../routing/strategy.ts';
import { modelInPath } from './addressed-model.ts';
import { type AttemptDeps, attempt } from './attempt.ts';
import { isJson, keepWhole, modelMember, openBody, takeModel } from './body.ts';
import type { Attempted, ModelCall, NamedModel, OpenCall, Opening } from './call.ts';
import { refuseCostlyChecks } from './check-config.ts';
import { FormWatch, furtherModels } from './form-watch.ts';
import { readMetadata } from './metadata.ts';
import { boundaryOf, readFormModel } from './multipart-model.ts';
import { respond } from './respond.ts';
import { findTarget, targetOfChoice } from './target.ts';

export interface RelayDeps extends AttemptDeps {
  readonly virtualKeys: VirtualKeys;
  readonly configs: Configs;
  readonly breakers: Breakers;
}

/** The life of one model call, in the order things happen. The log entry closes on the last byte. */
export async function relay(call: ModelCall, deps: RelayDeps): Promise<Response> {
  const { headers, log, principal } = call;
  log.metadata = readMetadata(headers, principal.defaults.metadata);
  log.keepBodies = flagOf(headers, 'x-gateway-debug') ?? true;
  log.requestHeaders = headers;

  const received = await openBody(call.request, headers, deps.maxBodyBytes);
  const named = received && namedIn(received.head, call);
  const body = received && opened(received, named, headers);
  const addressed = call.endpoint === 'proxy' && call.request.method === 'POST' ? modelInPath(call.path) : null;
  if (named) log.model = named.name;
  log.model = addressed ?? log.model;
  // Member by member: copying another object's members first takes several times as long, for every call.
  const open: OpenCall = {
    request: call.request,
    headers,
    stamp: call.stamp,
    endpoint: call.endpoint,
    path: call.path,
    search: call.search,
    principal,
    providerKey: call.providerKey,
    readsModel: call.readsModel,
    isUnguarded: call.isUnguarded,
    proven: call.proven,
    log,
    body,
    isJson: received !== null && isJson(headers),
    grownBy: named && received ? named.head.byteLength - received.head.byteLength : 0,
    config: null,
    addressed,
  };
  const slug = named?.slug ?? null;
  // What a check asks is the word of whoever wrote the check.
  if (slug !== null && !call.isUnguarded) refuseForbidden(principal.forbids, 'virtual_key', 'model');
  const route = selectRoute(call, principal.defaults, slug);
  if (route.by === 'config') return relayByPlan(open, route.reference, slug, deps);
  // What is at hand is not awaited: every await is another round through the queue of jobs.
  const found = findTarget(route, principal, call, deps.virtualKeys);
  const target = found instanceof Promise ? await found : found;
  return respond(open, await attempt(open, { target, settings: NO_SETTINGS, path: 'config' }, deps));
}

/** What a body says of its model, and perhaps of the virtual key before it; null where nobody can tell. */
function namedIn(head: Uint8Array, { headers, readsModel }: ModelCall): NamedModel | null {
  if (isJson(headers)) return readsModel ? takeModel(head) : { name: modelMember(head), slug: null, head };
  const boundary = boundaryOf(headers['content-type']);
  return boundary === null ? null : readFormModel(head, boundary, readsModel);
}

/** The body with the plain name of its model. A form that names one is watched: behind its file may stand another. */
function opened(received: Opening, named: NamedModel | null, headers: SentHeaders): Opening {
  const { rest } = received;
  const boundary = rest && named !== null && named.name !== null ? boundaryOf(headers['content-type']) : null;
  const head = named?.slug ? named.head : received.head;
  if (boundary === null) return head === received.head ? received : { head, rest };
  const watch = new FormWatch(boundary);
  watch.push(head);
  return { head, rest, watch: furtherModels(watch, { faults: false }) };
}

/** The same with a config: its plan says who is asked, in which order, and how. */
async function relayByPlan(call: OpenCall, reference: string, slug: string | null, deps: RelayDeps): Promise<Response> {
  const { principal } = call;
  const resolving = deps.configs.resolve(principal, reference);
  const plan = resolving instanceof Promise ? await resolving : resolving;
  const kept =
    call.body?.rest && plan.needsWholeBody ? await keepWhole(call.body, deps.maxBodyBytes, call.isJson) : call.body;
  const config = isInline(reference) ? null : reference.trim();
  const whole = { ...call, body: kept, config };
  const attempted =
    slug === null
      ? await walk(whole, plan, deps)
      : await attempt(whole, await byRequest(whole, slug, plan, deps), deps);
  return respond(whole, attempted);
}

/** A model that names its virtual key has chosen before any target could. */
async function byRequest(call: OpenCall, slug: string | null, plan: Plan, deps: RelayDeps) {
  const selection = selectProvider(call, call.principal.defaults, slug);
  const target = await findTarget(selection, call.principal, call, deps.virtualKeys);
  refuseCostly(call, plan.settings);
  return { target, settings: plan.settings, path: 'config' };
}

function walk(call: OpenCall, plan: Plan, deps: RelayDeps): Promise<Attempted> {
  const { principal, request } = call;
  // Most configs have one target and no circuit breaker: nothing is to be chosen, and nothing to be remembered.
  if (plan.root.kind === 'target' && !plan.root.breaker) return attemptStep(call, plan.root, deps);
  let params: Readonly<Record<string, unknown>> | null | undefined;
  const parsed = () => {
    params ??= call.isJson && call.body && !call.body.rest ? parsedObject(call.body.head) : null;
    return params;
  };
  // Two workspaces may send the same config, and their virtual keys are not the same.
  const own = { ...plan, id: `${principal.workspaceId} ${plan.id}` };
  return runPlan(own, {
    attempt: (step) => attemptStep(call, step, deps),
    breakers: deps.breakers,
    facts: { metadata: call.log.metadata, params: parsed, pathname: `/v1${call.path}` },
    now: deps.now,
    random: Math.random,
    statusOf: (error) => (request.signal.aborted || isNoneOfTarget(error) ? null : statusOf(error)),
  });
}

async function attemptStep(
  call: OpenCall,
  { choice, settings, path }: TargetStep,
  deps: RelayDeps,
): Promise<Attempted> {
  const { principal } = call;
  refuseCostly(call, settings);
  const finding =
    choice.by === 'request'
      ? findTarget(selectProvider(call, principal.defaults, null), principal, call, deps.virtualKeys)
      : targetOfChoice(choice, principal, call, deps.virtualKeys);
  const target = finding instanceof Promise ? await finding : finding;
  return attempt(call, { target, settings, path }, deps);
}

/** A config without a slug is the caller's own. */
function refuseCostly({ config, body, headers }: OpenCall, { guardrails }: TargetSettings) {
  if (config !== null || !guardrails || !body) return;
  const bytes = body.rest ? Number(headers['content-length'] ?? body.head.byteLength) : body.head.byteLength;
  refuseCostlyChecks(guardrails, bytes);
}

/** What a call may not bring along, and a body that did not come: no other target makes up for it. */
const OF_CALLER = new Set<ErrorCode>(['forbidden_by_rule', 'body_too_slow', 'body_incomplete']);
const isNoneOfTarget = (error: unknown) => error instanceof GatewayError && OF_CALLER.has(error.code);

function statusOf(error: unknown): number | null {
  if (error instanceof GatewayError) return error.status;
  return error instanceof UpstreamFailure ? error.toGatewayError().status : null;
}

function parsedObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
