import type { JobError } from '../job.ts';
import { errorIn, needed, objectIn } from './answers.ts';
import type { Backend, NewJob, RemoteFiles } from './backend.ts';
import { openai, files as openaiFiles } from './openai.ts';

/** A file is imported after its upload, and a job that names it before that is refused. */
const files: RemoteFiles = {
  ...openaiFiles,
  readiness: {
    ask: (name) => ({ method: 'GET', path: `/files/${encodeURIComponent(name)}` }),
    in: (answer) => {
      const file = objectIn(answer);
      const status = needed(file.status, 'status');
      if (status === 'processed' || status === 'succeeded') return 'ready';
      const isOver = ['error', 'failed', 'canceled', 'deleted'].includes(status);
      return isOver ? importFailure(file.error ?? file.status_details) : 'waiting';
    },
  },
};

const importFailure = (said: unknown): JobError => ({
  ...errorIn(
    0,
    typeof said === 'string' ? { message: said } : (said ?? { message: 'The file could not be imported.' }),
  ),
  code: 'invalid_training_file',
  param: 'training_file',
});

/** Every version of the API has `hyperparameters`; `method` came later, and only other methods need it. */
function create(job: NewJob, place: Parameters<Backend['create']>[1]): ReturnType<Backend['create']> {
  const asked = openai.create(job, place);
  const { method } = job.request;
  if (method.type !== 'supervised') return asked;
  const { method: _, ...body } = asked.body as Record<string, unknown>;
  const { hyperparameters } = method;
  return { ...asked, body: { ...body, ...(Object.keys(hyperparameters).length > 0 && { hyperparameters }) } };
}

/** OpenAI's API in Azure's own hands: no filter for jobs, no integrations, and files that take their time. */
export const azure: Backend = {
  ...openai,
  vocabulary: { ...openai.vocabulary, hasIntegrations: false },
  files,
  create,
  failure: errorIn,
};
