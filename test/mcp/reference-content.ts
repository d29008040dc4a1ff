import { completable, type McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { PNG, text } from './reference-tools.ts';

/** The resources and prompts that the conformance suite asks for. */
export function registerContent(server: McpServer) {
  registerResources(server);
  registerPrompts(server);
}

function registerResources(server: McpServer) {
  const resource = (name: string, uri: string, mimeType: string, content: { text: string } | { blob: string }) =>
    server.registerResource(name, uri, { description: `The ${name}`, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  resource('static text', 'test://static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  });
  resource('static binary', 'test://static-binary', 'image/png', { blob: PNG });
  resource('watched resource', 'test://watched-resource', 'text/plain', { text: 'It may change.' });
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'Data by id', mimeType: 'application/json' },
    ({ href }, { id }) => ({
      contents: [
        {
          uri: href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
}

function registerPrompts(server: McpServer) {
  const user = <Content>(content: Content) => ({ role: 'user' as const, content });
  server.registerPrompt('test_simple_prompt', { description: 'One sentence' }, () => ({
    messages: [user(text('This is a simple prompt for testing.'))],
  }));
  const argument = (description: string) => completable(z.string().describe(description), () => ['paris', 'park']);
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'Two arguments',
      argsSchema: z.object({ arg1: argument('First test argument'), arg2: argument('Second test argument') }),
    },
    ({ arg1, arg2 }) => ({ messages: [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'A resource', argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => ({
      messages: [
        user({
          type: 'resource' as const,
          resource: { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        user(text('Please process the embedded resource above.')),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A picture' }, () => ({
    messages: [
      user({ type: 'image' as const, data: PNG, mimeType: 'image/png' }),
      user(text('Please analyze the image above.')),
    ],
  }));
}
