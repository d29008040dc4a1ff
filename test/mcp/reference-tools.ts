import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';

/** A red pixel, and a moment of silence. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export const text = (content: string) => ({ type: 'text' as const, text: content });
export const said = (content: string) => ({ content: [text(content)] });

/** How often each tool ran: a call that is sent twice shows. */
export type Runs = Map<string, number>;

export interface ToolDeps {
  readonly runs: Runs;
  /** Tells those who listen that the lists have changed. */
  readonly changed: { tools(): void; prompts(): void };
}

/** What the client of a stateless request says it can do. */
export const capabilitiesOf = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
  (mcpReq.envelope as Record<string, ClientCapabilities> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];

const NO_ARGUMENTS = z.object({});
const pause = () => Bun.sleep(50);

/** The tools that the conformance suite asks for, with and without a conversation behind them. */
export function registerTools(server: McpServer, { runs, changed }: ToolDeps) {
  const simple = (
    name: string,
    description: string,
    run: (context: ServerContext) => ReturnType<Parameters<typeof server.registerTool>[2]>,
  ) =>
    server.registerTool(name, { description, inputSchema: NO_ARGUMENTS }, (_arguments, context) => {
      runs.set(name, (runs.get(name) ?? 0) + 1);
      return run(context);
    });

  simple('test_simple_text', 'Says one sentence', () => said('This is a simple text response for testing.'));
  simple('test_image_content', 'Shows a pixel', () => ({
    content: [{ type: 'image', data: PNG, mimeType: 'image/png' }],
  }));
  simple('test_audio_content', 'Plays silence', () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }));
  simple('test_embedded_resource', 'Holds a resource', () => ({
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
  }));
  simple('test_multiple_content_types', 'Holds several kinds at once', () => ({
    content: [
      text('Multiple content types test:'),
      { type: 'image', data: PNG, mimeType: 'image/png' },
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }));
  simple('test_error_handling', 'Always fails', () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  simple('test_tool_with_logging', 'Logs as it goes', logging);
  simple('test_logging_tool', 'Logs as it goes, too', logging);
  simple('test_tool_with_progress', 'Reports how far it is', progress);
  // The SDK refuses to ask a client for what it cannot do.
  simple('test_missing_capability', 'Needs a client that samples', ({ mcpReq }) =>
    mcpReq.inputResponses
      ? said('Thank you')
      : inputRequired({
          inputRequests: {
            thought: inputRequired.createMessage({
              messages: [{ role: 'user', content: text('Say something') }],
              maxTokens: 50,
            }),
          },
        }),
  );
  simple('test_trigger_tool_change', 'Changes the list of tools', () => {
    changed.tools();
    return said('changed');
  });
  simple('test_trigger_prompt_change', 'Changes the list of prompts', () => {
    changed.prompts();
    return said('changed');
  });
}

async function logging({ mcpReq }: ServerContext) {
  await mcpReq.log('info', 'Tool execution started');
  await pause();
  await mcpReq.log('info', 'Tool processing data');
  await pause();
  await mcpReq.log('info', 'Tool execution completed');
  return said('Tool with logging executed successfully');
}

async function progress({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  for (const step of [0, 50, 100]) {
    if (progressToken !== undefined)
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: step, total: 100 } });
    if (step < 100) await pause();
  }
  return said('Tool with progress executed successfully');
}
