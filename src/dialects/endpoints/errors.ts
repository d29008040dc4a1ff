import type { Failure } from '../ir.ts';
import { isObject, objectIn, objectsIn, someTextIn } from '../json.ts';
import { decodeError as decodeChatError } from '../openai-chat/errors.ts';

/** What providers without a dialect of ours send: `{errors: ["…"]}`, `{errors: [{message}]}`, or what OpenAI does. */
export function decodeError(status: number, body: unknown): Failure {
  const listed = objectIn(body).errors;
  const texts = Array.isArray(listed) ? listed.filter((each): each is string => typeof each === 'string') : [];
  const messages = objectsIn(listed).flatMap((each) => someTextIn(each.message) ?? []);
  const message = [...texts, ...messages].join(' ');
  const failure = decodeChatError(status, isObject(body) && message ? { ...body, message } : body);
  return message ? { ...failure, raw: body } : failure;
}
