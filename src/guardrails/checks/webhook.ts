import * as z from 'zod';
import { GatewayError } from '../../core/errors.ts';
import { schemaOf } from '../../core/schema.ts';
import { type CheckResult, check, type Facts } from '../check.ts';
import { eventOf, sentOn } from './call/event.ts';
import { address, forwardHeaders, headers, timeoutMs } from './parameters/address.ts';

const replySchema = () =>
  z.object({
    verdict: z.boolean(),
    data: z.record(z.string(), z.unknown()).nullish(),
    transformedData: z
      .object({
        request: z.object({ json: z.unknown() }).nullish(),
        response: z.object({ json: z.unknown() }).nullish(),
      })
      .nullish(),
  });

export const webhook = check({
  id: 'default.webhook',
  passes:
    'the server at `webhookURL` answers `{"verdict": true}` within `timeout`; its `transformedData.request.json` or `.response.json` takes the place of the body. A server that fails fails the check, unless `failOnError` is false',
  on: ['input', 'output'],
  span: 'whole',
  judges: 'body',
  transforms: true,
  tells: 'all',
  parameters: () =>
    z.strictObject({
      webhookURL: address(),
      headers: headers(),
      timeout: timeoutMs(3_000),
      failOnError: z.boolean({ error: 'give true or false' }).default(true),
      forwardHeaders: forwardHeaders(),
    }),
  secrets: ['headers'],
  addresses: ({ webhookURL }) => [webhookURL],
  run: async (facts, { webhookURL, headers, timeout, failOnError, forwardHeaders }, { fetch }) => {
    try {
      const response = await fetch(webhookURL, {
        method: 'POST',
        headers: { ...sentOn(facts, forwardHeaders), ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(eventOf(facts)),
        timeoutMs: timeout,
      });
      if (!response.ok) throw new ReplyFault(`the webhook answered ${response.status}`);
      return understood(await response.text(), facts);
    } catch (error) {
      return { verdict: !failOnError, data: null, error: reasonOf(error) };
    }
  },
});

class ReplyFault extends Error {}

function understood(text: string, { on }: Facts): CheckResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ReplyFault("the webhook's answer is not JSON");
  }
  const { success, data: reply } = schemaOf(replySchema).safeParse(value);
  if (!success)
    throw new ReplyFault('the webhook\'s answer has no "verdict" that is true or false, or is of another form');
  const changed = on === 'input' ? reply.transformedData?.request : reply.transformedData?.response;
  return {
    verdict: reply.verdict,
    data: reply.data ?? null,
    ...(changed && changed.json !== undefined && changed.json !== null && { transformed: { json: changed.json } }),
  };
}

/** Without what the network says of addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof ReplyFault) return error.message;
  return `the webhook did not answer${error instanceof GatewayError ? `: ${error.code}` : ''}`;
}
