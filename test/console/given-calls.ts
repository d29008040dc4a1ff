import { serve, type TestGateway } from '../gateway.ts';

/** What a page must show as text and never run. */
export const HOSTILE = '<img src=x onerror="globalThis.hacked = 1"><script>globalThis.hacked = 1</script>';

const ANSWER = `Refunds take **three to five** working days.

| Order | State | Amount |
|---|---|---|
| \`A-1041\` | sent back | $42.00 |
| \`A-1042\` | waiting | $18.50 |

1. Open the order.
2. Choose *Refund*, then confirm.

\`\`\`ts
await orders.refund('A-1041', { amount: 42 });
\`\`\`

See [the policy](https://example.com/refunds). [Not a link](javascript:alert(1)) ${HOSTILE}`;

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAIAAABt+uBvAAARxklEQVR42u3cVY6c25qt4WrnK5XtZKZgZqZkRttNyAyGnymY0p040mlAXZVUDSjYezltrx3S14Lncs4xxr/9v///H4v7b+7fFgQLoAXQAmgBtABaAC2AFkCLWwAtgBZA/zpAHn54+eHjh58fAX4E+RHiR5gfEX5E+RHjR5wfCX4k+ZHiR5ofGX78SwA5eXfx7ubdw7uXdx/vft4DvAd5D/Ee5j3Ce5T3GO9x3hO8J3lP8Z7mPcN7lvcc73ne/4ZANt7tvDt4/0uACrwXeS99iNRPBzpkfsTcxtzO3MHcydzF3M3cw9zL3MfczzzAPMg8xDzMPMI8yjzGPM48wTzJPMU8zTzDPMs8xzzPvMC8yLzE/Jj5CfM/FWif+QHzDwA6ZX7205h+FtAes31mB8wOmR0xszGzM3MwczJzMXMz8zDzMvMx8zMLMAsyCzELM4swizKLMYszSzBLMksxSzPLMMsyyzHLMyswKzIrMTtmdsLslNkZs3NmfwbQDrNdZr8E6ILZ5V/N9BcDbTPdYbrLdI/pPtMDpodMj5jamNqZOpg6mbqYupl6mHqZ+pj6mQaYBpmGmIaZRphGmcaYxpkmmCaZppimmWaYZpnmmOaZFpgWmZaYHjM9YXrK9IzpOdMLppdMr5j+pkBbTH8ToOu/zugvA9pkssVkm8kOk10me0z2mRwwOWRyxMTGxM7EwcTJxMXEzcTDxMvEx8TPJMAkyCTEJMwkwiTKJMYkziTBJMkkxSTNJMMkyyTHJM+kwKTIpMTkmMkJk1MmZ0zOmVwwuWRyxeSayQ2T3whog8lvCHT7Vxj9BUDrjDcYbzLeYrzNeIfxLuM9xvuMDxgfMj5ibGNsZ+xg7GTsYuxm7GHsZexj7GccYBxkHGIcZhxhHGUcYxxnnGCcZJxinGacYZxlnGOcZ1xgXGRcYnzM+ITxKeMzxueMLxhfMr5ifM34hvEt4zvGvxhojfFvDnT/zxn9U0CrjNYYrTPaYLTJaIvRNqMdRruM9hjtMzpgdMjoiJGNkZ2Rg5GTkYuRm5GHkZeRj5GfUYBRkFGIUZhRhFGUUYxRnFGCUZJRilGaUYZRllGOUZ5RgVGRUYnRMaMTRqeMzhidM7pgdMnoitE1oxtGt4zuGN0zemD0C4BWGP1BQI//qNE/AzRcZbjGcJ3hBsNNhlsMtxnuMNxluMdwn+EBw0OGRwxtDO0MHQydDF0M3Qw9DL0MfQz9DAMMgwxDDMMMIwyjDGMM4wwTDJMMUwzTDDMMswxzDPMMCwyLDEsMjxmeMDxleMbwnOEFw0uGVwyvGd4wvGV4x/Ce4QPDR4YfCrTM8I8DevqHjP4RoCUGywxWGKwyWGOwzmCDwSaDLQbbDHYY7DLYY7DP4IDBIYMjBjYGdgYOBk4GLgZuBh4GXgY+Bn4GAQZBBiEGYQYRBlEGMQZxBgkGSQYpBmkGGQZZBjkGeQYFBkUGJQbHDE4YnDI4Y3DO4ILBJYMrBtcMbhjcMrhjcM/ggcEjgycGzwwWQL8a6Av9JfrL9Ffor9Jfo79Of4P+Jv0t+tv0d+jv0t+jv0//gP4h/SP6Nvp2+g76Tvou+m76Hvpe+j76fvoB+kH6Ifph+hH6Ufox+nH6CfpJ+in6afoZ+ln6Ofp5+gX6Rfol+sf0T+if0j+jf07/gv4l/Sv61/Rv6N/Sv6N/T/+B/iP9J/rP9F/oL4B+HdBnel/oLdFbprdCb5XeGr11ehv0Nult0dumt0Nvl94evX16B/QO6R3Rs9Gz03PQc9Jz0XPT89Dz0vPR89ML0AvSC9EL04vQi9KL0YvTS9BL0kvRS9PL0MvSy9HL0yvQK9Ir0Tumd0LvlN4ZvXN6F/Qu6V3Ru6Z3Q++W3h29e3oP9B7pPdF7pvdC7yu9BdAvA+p+obtEd5nuCt1Vumt01+lu0N2ku0V3m+4O3V26e3T36R7QPaR7RNdG107XQddJ10XXTddD10vXR9dPN0A3SDdEN0w3QjdKN0Y3TjdBN0k3RTdNN0M3SzdHN0+3QLdIt0T3mO4J3VO6Z3TP6V7QvaR7Rfea7g3dW7p3dO/pPtB9pPtE95nuC92vdH8K0Ce6fxugb/9ro/8TkPUZ6wvWEtYy1grWKtYa1jrWBtYm1hbWNtYO1i7WHtY+1gHWIdYRlg3LjuXAcmK5sNxYHiwvlg/LjxXACmKFsMJYEawoVgwrjpXASmKlsNJYGawsVg4rj1XAKmKVsI6xTrBOsc6wzrEusC6xrrCusW6wbrHusO6xHrAesZ6wnrFesL5ifcNaAH0s0L9jfsL8jPkFcwlzGXMFcxVzDXMdcwNzE3MLcxtzB3MXcw9zH/MA8xDzCNOGacd0YDoxXZhuTA+mF9OH6ccMYAYxQ5hhzAhmFDOGGcdMYCYxU5hpzAxmFjOHmccsYBYxS5jHmCeYp5hnmOeYF5iXmFeY15g3mLeYd5j3mA+Yj5hPmM+YL5hfMb9hfsdcAH0okPEJ4zPGF4wljGWMFYxVjDWMdYwNjE2MLYxtjB2MXYw9jH2MA4xDjCMMG4Ydw4HhxHBhuDE8GF4MH4YfI4ARxAhhhDEiGFGMGEYcI4GRxEhhpDEyGFmMHEYeo4BRxChhHGOcYJxinGGcY1xgXGJcYVxj3GDcYtxh3GM8YDxiPGE8Y7xgfMX4hvEdYwH0oUD6J/TP6F/Ql9CX0VfQV9HX0NfRN9A30bfQt9F30HfR99D30Q/QD9GP0G3odnQHuhPdhe5G96B70X3ofvQAehA9hB5Gj6BH0WPocfQEehI9hZ5Gz6Bn0XPoefQCehG9hH6MfoJ+in6Gfo5+gX6JfoV+jX6Dfot+h36P/oD+iP6E/oz+gv4V/Rv6d/QF0IcCaZ/QPqN9QVtCW0ZbQVtFW0NbR9tA20TbQttG20HbRdtD20c7QDtEO0KzodnRHGhONBeaG82D5kXzofnRAmhBtBBaGC2CFkWLocXREmhJtBRaGi2DlkXLoeXRCmhFtBLaMdoJ2inaGdo52gXaJdoV2jXaDdot2h3aPdoD2iPaE9oz2gvaV7RvaN/RFkAfCqR+Qv2M+gV1CXUZdQV1FXUNdR11A3UTdQt1G3UHdRd1D3Uf9QD1EPUI1YZqR3WgOlFdqG5UD6oX1YfqRw2gBlFDqGHUCGoUNYYaR02gJlFTqGnUDGoWNYeaRy2gFlFLqMeoJ6inqGeo56gXqJeoV6jXqDeot6h3qPeoD6iPqE+oz6gvqF9Rv6F+R10AfSiQ8gnlM8oXlCWUZZQVlFWUNZR1lA2UTZQtlG2UHZRdlD2UfZQDlEOUIxQbih3FgeJEcaG4UTwoXhQfih8lgBJECaGEUSIoUZQYShwlgZJESaGkUTIoWZQcSh6lgFJEKaEco5ygnKKcoZyjXKBcolyhXKPcoNyi3KHcozygPKI8oTyjvKB8RfmG8h1lAfShQPIn5M/IX5CXkJeRV5BXkdeQ15E3kDeRt5C3kXeQd5H3kPeRD5APkY+Qbch2ZAeyE9mF7Eb2IHuRfch+5AByEDmEHEaOIEeRY8hx5ARyEjmFnEbOIGeRc8h55AJyEbmEfIx8gnyKfIZ8jnyBfIl8hXyNfIN8i3yHfI/8gPyI/IT8jPyC/BX5G/J35AXQhwJJn5A+I31BWkJaRlpBWkVaQ1pH2kDaRNpC2kbaQdpF2kPaRzpAOkQ6QrIh2ZEcSE4kF5IbyYPkRfIh+ZECSEGkEFIYKYIURYohxZESSEmkFFIaKYOURcoh5ZEKSEWkEtIx0gnSKdIZ0jnSBdIl0hXSNdIN0i3SHdI90gPSI9IT0jPSC9JXpG9I35EWQB8KJH5C/Iz4BXEJcRlxBXEVcQ1xHXEDcRNxC3EbcQdxF3EPcR/xAPEQ8QjRhmhHdCA6EV2IbkQPohfRh+hHDCAGEUOIYcQIYhQxhhhHTCAmEVOIacQMYhYxh5hHLCAWEUuIx4gniKeIZ4jniBeIl4hXiNeIN4i3iHeI94gPiI+IT4jPiC+IXxG/IX5H/MtfFP9WQD/jyVX4jPAFYQlhGWEFYRVhDWEdYQNhE2ELYRthB2EXYQ9hH+EA4RDhCMGGYEdwIDgRXAhuBA+CF8GH4EcIIAQRQghhhAhCFCGGEEdIICQRUghphAxCFiGHkEcoIBQRSgjHCCcIpwhnCOcIFwiXCFcI1wg3CLcIdwj3CA8IjwhPCM8ILwhfEb4hLIA+HOi//sU6X+gs0Vmms0Jnlc4anXU6G3Q26WzR2aazQ2eXzh6dfToHdA7pHNGx0bHTcdBx0nHRcdPx0PHS8dHx0wnQCdIJ0QnTidCJ0onRidNJ0EnSSdFJ08nQydLJ0cnTKdAp0inROaZzQueUzhmdczoXdC7pXNG5pnND55bOHZ17Og90Huk80Xmm80LnK52f93G4APofgNpfaC/RXqa9QnuV9hrtddobtDdpb9Hepr1De5f2Hu192ge0D2kf0bbRttN20HbSdtF20/bQ9tL20fbTDtAO0g7RDtOO0I7SjtGO007QTtJO0U7TztDO0s7RztMu0C7SLtE+pn1C+5T2Ge1z2he0L2lf0b6mfUP7lvYd7XvaD7QfaT/Rfqb9Qvsr7Z+a7vjjgX52/KW1RGuZ1gqtVVprtNZpbdDapLVFa5vWDq1dWnu09mkd0DqkdUTLRstOy0HLSctFy03LQ8tLy0fLTytAK0grRCtMK0IrSitGK04rQStJK0UrTStDK0srRytPq0CrSKtE65jWCa1TWme0zmld0LqkdUXrmtYNrVtad7TuaT3QeqT1ROuZ1gutD0iY/cFAHxPBay7TXKG5SnON5jrNDZqbNLdobtPcoblLc4/mPs0Dmoc0j2jaaNppOmg6abpouml6aHpp+mj6aQZoBmmGaIZpRmhGacZoxmkmaCZppmimaWZoZmnmaOZpFmgWaZZoHtM8oXlK84zmOc0Lmpc0r2he07yheUvzjuY9zQeajzSfaD7T/LCU6x8J9ME56cYqjTUa6zQ2aGzS2KKxTWOHxi6NPRr7NA5oHNI4omGjYafhoOGk4aLhpuGh4aXho+GnEaARpBGiEaYRoRGlEaMRp5GgkaSRopGmkaGRpZGjkadRoFGkUaJxTOOEximNMxrnNC5oXNK4onFN44bGLY07Gvc0Hmg80vj4IPkC6H/uatTXqK9T36C+SX2L+jb1Heq71Peo71M/oH5I/Yi6jbqduoO6k7qLupu6h7qXuo+6n3qAepB6iHqYeoR6lHqMepx6gnqSeop6mnqGepZ6jnqeeoF6kXqJ+jH1E+qn1M+on1O/oH5J/Yr6NfUb6rfU76jfU3+g/gvbPn8A0C/vi9U2qG1S26K2TW2H2i61PWr71A6oHVI7omajZqfmoOak5qLmpuah5qXmo+anFqAWpBaiFqYWoRalFqMWp5aglqSWopamlqGWpZajlqdWoFakVqJ2TO2E2im1M2rn1C6oXVK7onZN7YbaLbU7ar9J4/A3BfqtOqvVLarbVHeo7lLdo7pP9YDqIdUjqjaqdqoOqk6qLqpuqh6qXqo+qn6qAapBqiGqYaoRqlGqMapxqgmqSaopqmmqGapZqjmqeaoFqkWqJarHVE+onlI9o3pO9YLqJdUrqtdUb6j+hq3n3wjot+3NV3ao7FLZo7JP5YDKIZUjKjYqdioOKk4qLipuKh4qXio+Kn4qASpBKiEqYSoRKlEqMSpxKgkqSSopKmkqGSpZKjkqeSoFKkUqJSrHVE6onFI5o3JO5YLKJZUrKr/58sIvBvpTtjvK+5QPKB9SPqJso2yn7KDspOyi7Kbsoeyl7KPspxygHKQcohymHKEcpRyjHKecoJyknKKcppyhnKWco5ynXKBcpFyifEz5hPIp5TPK55T/uPWXDwX6c/eD3o54s/Fm583Bm5M3F29u3jy8eXnz8ebnLcBbkLcQb2HeIrxFeYvxFuctwVuStxRvad4yvGV5y/GW563AW5G3Em/HvJ3w9vdYoPopQH/LDbNXF69uXj28enn18ernNcBrkNcQr2FeI7xGeY3xGuc1wWuS1xSvaV4zvGZ5zfGa5/VfZAXv/wy02FFc7CgugBZAC6DFLYAWQAugBdACaAG0APoXuf8E1IOdgqUQqJIAAAAASUVORK5CYII=';

/** A provider in OpenAI's format that answers like one in use: marks, tools, reasoning, tokens of every kind. */
export function startTalker() {
  return serve(async (request) => {
    if (request.method === 'GET') return Response.json({ object: 'list', data: [{ id: 'gpt-4o' }, { id: 'o4-mini' }] });
    const body = (await request.json()) as { model: string; stream?: boolean; tools?: unknown[]; messages: Said[] };
    const said = String(body.messages.at(-1)?.content ?? '');
    if (said.includes('fail'))
      return Response.json({ error: { message: 'Too many requests', code: 'rate' } }, { status: 429 });
    await Bun.sleep(said.includes('slow') ? 400 : 15);
    const calls = body.tools && body.messages.at(-1)?.role === 'user';
    const message = calls
      ? {
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'get_order', arguments: '{"id":"A-1041"}' } },
          ],
        }
      : { content: ANSWER, reasoning_content: 'The user asks for refunds; the table of orders says which.' };
    const usage = {
      ...{ prompt_tokens: 1_240, completion_tokens: 380, total_tokens: 1_620 },
      prompt_tokens_details: { cached_tokens: 512 },
      completion_tokens_details: { reasoning_tokens: 96 },
    };
    const facts = { id: 'chatcmpl-1', created: 1_750_000_000, model: body.model };
    if (!body.stream)
      return Response.json({
        ...{ ...facts, object: 'chat.completion', usage },
        choices: [
          { index: 0, message: { role: 'assistant', ...message }, finish_reason: calls ? 'tool_calls' : 'stop' },
        ],
      });
    return new Response(streamed(facts, message, usage), { headers: { 'content-type': 'text/event-stream' } });
  });
}

interface Said {
  readonly role: string;
  readonly content: unknown;
}
interface Message {
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly object[];
}

function streamed(facts: object, { content, reasoning_content, tool_calls }: Message, usage: object): ReadableStream {
  const chunk = (more: object) => `data: ${JSON.stringify({ ...facts, object: 'chat.completion.chunk', ...more })}\n\n`;
  const delta = (given: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: given, finish_reason }] });
  const pieces = [
    ...(reasoning_content ? [delta({ role: 'assistant', reasoning_content })] : []),
    ...(content?.match(/.{1,24}/gs) ?? []).map((text) => delta({ content: text })),
    ...(tool_calls ? [delta({ tool_calls: tool_calls.map((call, index) => ({ index, ...call })) })] : []),
    delta({}, tool_calls ? 'tool_calls' : 'stop'),
    chunk({ choices: [], usage }),
    'data: [DONE]\n\n',
  ];
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) return controller.close();
      await Bun.sleep(4);
      controller.enqueue(encoder.encode(piece));
    },
  });
}

const TOOL = {
  type: 'function',
  function: {
    name: 'get_order',
    description: 'Looks an order up by its number.',
    parameters: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  },
};

/** A workspace in use: keys of two applications, a fallback, a guardrail, a session of an agent, and what went wrong. */
export async function givenCalls({ api, given, provider }: TestGateway, origin: string) {
  await given.virtualKey({ name: 'OpenAI', slug: 'openai-main', provider: 'openai', custom_host: `${origin}/v1` });
  await given.virtualKey({ name: 'Anthropic', slug: 'claude', provider: 'anthropic', custom_host: provider.url });
  const [checkout, support] = await Promise.all([
    given.apiKey({ name: 'checkout-service', workspace_id: 'default' }),
    given.apiKey({ name: 'support-bot', workspace_id: 'default' }),
  ]);
  const config = {
    strategy: { mode: 'fallback' },
    targets: [
      { virtual_key: 'openai-main', override_params: { model: 'gpt-4o' } },
      { virtual_key: 'claude', override_params: { model: 'claude-sonnet-4-5' } },
    ],
  };
  const guarded = {
    virtual_key: 'openai-main',
    input_guardrails: [{ deny: true, 'default.contains': { words: ['Walrus'], operator: 'none' } }],
  };
  const call = (key: string, body: object, headers: Record<string, string> = {}) =>
    api.post('/v1/chat/completions', body, { key, headers });
  const ask = (content: unknown) => [
    { role: 'system', content: 'You answer questions about orders, in a friendly tone.' },
    { role: 'user', content },
  ];
  const openai = { 'x-gateway-virtual-key': 'openai-main' };
  const session = { ...openai, 'x-gateway-session-id': 'agent-7f3a', 'x-gateway-metadata': '{"team":"support"}' };

  await call(checkout.key, { model: 'gpt-4o-mini', messages: ask('Summarise order A-1040.') }, openai);
  await call(
    support.key,
    { model: 'claude-sonnet-4-5', max_tokens: 200, messages: ask('Write a short reply.') },
    {
      'x-gateway-virtual-key': 'claude',
    },
  );
  // Names that a page must not run: of the model, of a tool, and in metadata.
  const evil = { ...TOOL, function: { ...TOOL.function, description: HOSTILE } };
  const hostile = {
    model: HOSTILE,
    tools: [evil],
    messages: [...ask(HOSTILE), { role: 'assistant', content: HOSTILE }],
  };
  await call(checkout.key, hostile, {
    ...openai,
    'x-gateway-metadata': JSON.stringify({ team: HOSTILE.slice(0, 100) }),
  });
  await call(checkout.key, { model: 'nope', messages: ask('Hello') }, { 'x-gateway-virtual-key': 'missing' });
  await call(
    support.key,
    { model: 'gpt-4o', messages: ask('Tell me of Project Walrus.') },
    {
      'x-gateway-config': JSON.stringify(guarded),
    },
  );
  await call(
    checkout.key,
    { model: 'gpt-4o', messages: ask('Please fail once.') },
    { 'x-gateway-config': JSON.stringify(config) },
  );
  const picture = [
    { type: 'text', text: 'What is on this picture?' },
    { type: 'image_url', image_url: { url: PIXEL } },
  ];
  await call(support.key, { model: 'gpt-4o', messages: ask(picture) }, session);
  const asked = ask('Where is order A-1041?');
  await call(support.key, { model: 'o4-mini', stream: true, tools: [TOOL], messages: asked }, session);
  const used = [
    ...asked,
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_order', arguments: '{"id":"A-1041"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '{"id":"A-1041","state":"sent back","amount":42}' },
  ];
  const last = await call(
    support.key,
    { model: 'gpt-4o', stream: true, temperature: 0.2, tools: [TOOL], messages: used },
    session,
  );
  return { checkout, support, last };
}
