import OpenAI from 'openai';
import OpenAI4 from 'openai-4';
import OpenAI5 from 'openai-5';

type Runs = OpenAI['beta']['threads']['runs'];
type Outputs = { tool_call_id: string; output: string }[];
type Place = { thread_id: string; run_id: string };

/**
 * One major of the vendor's client. `openai` is for calls that are written alike in all of them; the others are those
 * whose arguments have changed places.
 */
export interface ClientMajor {
  readonly openai: OpenAI;
  retrieveRun(place: Place): ReturnType<Runs['retrieve']>;
  cancelRun(place: Place): ReturnType<Runs['cancel']>;
  pollRun(place: Place): ReturnType<Runs['poll']>;
  submitAndPoll(place: Place, tool_outputs: Outputs): ReturnType<Runs['submitToolOutputsAndPoll']>;
  submitStream(place: Place, tool_outputs: Outputs): ReturnType<Runs['submitToolOutputsStream']>;
  listSteps(place: Place, query?: { limit?: number; order?: 'asc' | 'desc' }): ReturnType<Runs['steps']['list']>;
  retrieveStep(
    place: Place & { step_id: string },
    query: Pick<OpenAI.Beta.Threads.Runs.StepRetrieveParams, 'include'>,
  ): ReturnType<Runs['steps']['retrieve']>;
  deleteMessage(threadId: string, messageId: string): Promise<unknown>;
  deleteThread(threadId: string): Promise<unknown>;
  deleteAssistant(assistantId: string): Promise<unknown>;
  deleteFile(fileId: string): Promise<unknown>;
}

export interface ClientOptions {
  readonly url: string;
  readonly key: string;
  // biome-ignore lint/suspicious/noExplicitAny: each major has a type of its own for it
  readonly fetch: (url: any, init?: any) => Promise<any>;
}

export const CLIENT_MAJORS: Readonly<Record<string, (options: ClientOptions) => ClientMajor>> = {
  'openai 6': (options) => named(new OpenAI(settings(options))),
  'openai 5': (options) => named(new OpenAI5(settings(options)) as unknown as OpenAI),
  'openai 4': (options) => positional(new OpenAI4(settings(options))),
};

const settings = ({ url, key, fetch }: ClientOptions) => ({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, fetch });

function named(openai: OpenAI): ClientMajor {
  const { runs, messages } = openai.beta.threads;
  return {
    openai,
    retrieveRun: ({ run_id, thread_id }) => runs.retrieve(run_id, { thread_id }),
    cancelRun: ({ run_id, thread_id }) => runs.cancel(run_id, { thread_id }),
    pollRun: ({ run_id, thread_id }) => runs.poll(run_id, { thread_id }),
    submitAndPoll: ({ run_id, thread_id }, tool_outputs) =>
      runs.submitToolOutputsAndPoll(run_id, { thread_id, tool_outputs }),
    submitStream: ({ run_id, thread_id }, tool_outputs) =>
      runs.submitToolOutputsStream(run_id, { thread_id, tool_outputs }),
    listSteps: ({ run_id, thread_id }, query) => runs.steps.list(run_id, { thread_id, ...query }),
    retrieveStep: ({ step_id, ...place }, query) => runs.steps.retrieve(step_id, { ...place, ...query }),
    deleteMessage: (thread_id, id) => messages.delete(id, { thread_id }),
    deleteThread: (id) => openai.beta.threads.delete(id),
    deleteAssistant: (id) => openai.beta.assistants.delete(id),
    deleteFile: (id) => openai.files.delete(id),
  };
}

/** Version 4 has the ids in the order of the path, and `del` for `delete`. */
function positional(client: OpenAI4): ClientMajor {
  const { runs, messages } = client.beta.threads;
  const face = {
    openai: client,
    retrieveRun: ({ run_id, thread_id }: Place) => runs.retrieve(thread_id, run_id),
    cancelRun: ({ run_id, thread_id }: Place) => runs.cancel(thread_id, run_id),
    pollRun: ({ run_id, thread_id }: Place) => runs.poll(thread_id, run_id),
    submitAndPoll: ({ run_id, thread_id }: Place, tool_outputs: Outputs) =>
      runs.submitToolOutputsAndPoll(thread_id, run_id, { tool_outputs }),
    submitStream: ({ run_id, thread_id }: Place, tool_outputs: Outputs) =>
      runs.submitToolOutputsStream(thread_id, run_id, { tool_outputs }),
    listSteps: ({ run_id, thread_id }: Place, query?: object) => runs.steps.list(thread_id, run_id, query),
    retrieveStep: ({ thread_id, run_id, step_id }: Place & { step_id: string }, query: object) =>
      runs.steps.retrieve(thread_id, run_id, step_id, query),
    deleteMessage: (thread_id: string, id: string) => messages.del(thread_id, id),
    deleteThread: (id: string) => client.beta.threads.del(id),
    deleteAssistant: (id: string) => client.beta.assistants.del(id),
    deleteFile: (id: string) => client.files.del(id),
  };
  return face as unknown as ClientMajor;
}
