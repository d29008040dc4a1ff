import {
  acceptedContent,
  type ElicitRequestFormParams,
  type InputRequests,
  inputRequired,
  inputResponse,
  type McpServer,
  type RequestStateCodec,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { capabilitiesOf, said } from './reference-tools.ts';

export type State = { readonly round: number };

/** Tools that ask the client something: over an open session as it was until 2025, and by returning a question since. */
export function registerQuestions(server: McpServer, states: RequestStateCodec<State>) {
  registerOlder(server);
  registerNewer(server, states);
}

const NO_ARGUMENTS = z.object({});

function registerOlder(server: McpServer) {
  server.registerTool(
    'test_sampling',
    { description: 'Asks the client for a completion', inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const { content } = await mcpReq.requestSampling({
        messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
        maxTokens: 100,
      });
      const answer = [content].flat().map((part) => (part.type === 'text' ? part.text : ''));
      return said(`LLM response: ${answer.join('')}`);
    },
  );
  server.registerTool(
    'test_elicitation',
    { description: 'Asks the user who they are', inputSchema: z.object({ message: z.string() }) },
    async ({ message }, { mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({ message, requestedSchema: USER });
      return said(`User response: <action: ${action}, content: ${JSON.stringify(content ?? {})}>`);
    },
  );
  for (const [name, requestedSchema] of [
    ['test_elicitation_sep1034_defaults', DEFAULTS],
    ['test_elicitation_sep1330_enums', CHOICES],
  ] as const) {
    const config = { description: 'Asks the user to fill in a form', inputSchema: NO_ARGUMENTS };
    server.registerTool(name, config, async (_arguments, { mcpReq }) => {
      const { action, content } = await mcpReq.elicitInput({ message: 'Please fill this in', requestedSchema });
      return said(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
    });
  }
}

type Schema = ElicitRequestFormParams['requestedSchema'];

const USER: Schema = {
  type: 'object',
  properties: {
    username: { type: 'string', description: "User's response" },
    email: { type: 'string', description: "User's email address" },
  },
  required: ['username', 'email'],
};

const DEFAULTS: Schema = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
};

const OPTIONS = ['option1', 'option2', 'option3'];
const titled = (kind: string) =>
  ['First', 'Second', 'Third'].map((order, index) => ({ const: `value${index + 1}`, title: `${order} ${kind}` }));
const CHOICES: Schema = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: OPTIONS },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: OPTIONS } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
};

const asking = (message: string, name: string, type: 'string' | 'boolean' = 'string') =>
  inputRequired.elicit({
    message,
    requestedSchema: {
      type: 'object',
      properties: { [name]: type === 'string' ? { type } : { type } },
      required: [name],
    },
  });
const sampling = (question: string, maxTokens: number) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens,
  });

const answered = ({ mcpReq }: ServerContext, key: string, name: string): unknown =>
  acceptedContent(mcpReq.inputResponses, key)?.[name];

function registerNewer(server: McpServer, states: RequestStateCodec<State>) {
  const tool = (
    suffix: string,
    run: (context: ServerContext) => ReturnType<Parameters<typeof server.registerTool>[2]>,
  ) =>
    server.registerTool(
      suffix.startsWith('test_') ? suffix : `test_input_required_result_${suffix}`,
      { description: 'Comes back with a question', inputSchema: NO_ARGUMENTS },
      (_arguments, context) => run(context),
    );
  const ask = (inputRequests: InputRequests) => inputRequired({ inputRequests });
  const askWith = async (inputRequests: InputRequests, round: number, context: ServerContext) =>
    inputRequired({ inputRequests, requestState: await states.mint({ round }, context) });

  const whoIsIt = (context: ServerContext) => {
    const name = answered(context, 'user_name', 'name');
    return typeof name === 'string'
      ? said(`Hello, ${name}!`)
      : ask({ user_name: asking('What is your name?', 'name') });
  };
  tool('elicitation', whoIsIt);
  tool('test_streaming_elicitation', whoIsIt);
  tool('sampling', ({ mcpReq }) => {
    const view = inputResponse(mcpReq.inputResponses, 'capital_question');
    if (view.kind !== 'sampling') return ask({ capital_question: sampling('What is the capital of France?', 100) });
    return said(
      [view.result.content]
        .flat()
        .map((part) => (part.type === 'text' ? part.text : ''))
        .join(''),
    );
  });
  tool('list_roots', ({ mcpReq }) => {
    const view = inputResponse(mcpReq.inputResponses, 'client_roots');
    if (view.kind !== 'roots') return ask({ client_roots: inputRequired.listRoots() });
    return said(`Roots: ${view.roots.map(({ uri }) => uri).join(', ')}`);
  });
  for (const suffix of ['request_state', 'tampered_state'])
    tool(suffix, (context) =>
      context.mcpReq.requestState<State>() && answered(context, 'confirm', 'ok') !== undefined
        ? said('state-ok')
        : askWith({ confirm: asking('Please confirm', 'ok', 'boolean') }, 1, context),
    );
  tool('multiple_inputs', (context) => {
    const { inputResponses } = context.mcpReq;
    const kinds = ['user_name', 'greeting', 'client_roots'].map((key) => inputResponse(inputResponses, key).kind);
    if (kinds.join() === 'elicit,sampling,roots') return said('All inputs received');
    const questions = {
      user_name: asking('What is your name?', 'name'),
      greeting: sampling('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    };
    return askWith(questions, 1, context);
  });
  tool('multi_round', (context) => {
    const round = context.mcpReq.requestState<State>()?.round ?? 0;
    if (round === 2 && answered(context, 'step2', 'color') !== undefined) return said('Both steps are done');
    return round === 1 && answered(context, 'step1', 'name') !== undefined
      ? askWith({ step2: asking('Step 2: What is your favorite color?', 'color') }, 2, context)
      : askWith({ step1: asking('Step 1: What is your name?', 'name') }, 1, context);
  });
  tool('capabilities', (context) => {
    const able = capabilitiesOf(context);
    if (context.mcpReq.inputResponses) return said('Thank you');
    return ask({
      ...(able?.elicitation && { name: asking('What is your name?', 'name') }),
      ...(able?.sampling && { thought: sampling('Say something', 50) }),
      ...(able?.roots && { roots: inputRequired.listRoots() }),
    });
  });
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks first' },
    (context: ServerContext) => {
      const subject = answered(context, 'user_context', 'context');
      if (typeof subject !== 'string')
        return ask({ user_context: asking('What context should the prompt use?', 'context') });
      return { messages: [{ role: 'user', content: { type: 'text', text: `Use this context: ${subject}` } }] };
    },
  );
}
