/** Where answers may differ from the vendor's types, and why. The pattern is held against `openai <major>: <place>: <what>`. */
interface Exception {
  readonly pattern: RegExp;
  readonly reason: string;
}

const RESPONSE = '(Response|response\\.\\w+\\.response)';
const UNKNOWN = 'unknown to the vendor$';

const EXCEPTIONS: readonly Exception[] = [
  {
    pattern: new RegExp(`${RESPONSE}\\.output_text: missing`),
    reason: 'The vendor does not send it: its client makes it from the output.',
  },
  {
    pattern: new RegExp(`${RESPONSE}\\.store: ${UNKNOWN}`),
    reason: 'The vendor sends it, and only the types of requests name it.',
  },
  {
    pattern: new RegExp(`openai 6: ${RESPONSE}\\.(access_programs|max_tool_calls): ${UNKNOWN}`),
    reason: 'The newer types have it.',
  },
  {
    pattern: /openai 6: .*\.error: \{"type":"(mcp_|http_error)/,
    reason: 'A text in the older types, an object in the newer ones and on the wire.',
  },
  {
    pattern: new RegExp(`openai 7: response\\.function_call_arguments\\.done\\.name: ${UNKNOWN}`),
    reason: 'The older types require it.',
  },
  {
    pattern: new RegExp(`: error\\.error: ${UNKNOWN}`),
    reason: 'Helpers of the vendor throw at a member `error` only; its types have the same facts beside it.',
  },
  {
    pattern: new RegExp(`response\\.output_text\\.(delta|done)\\.logprobs\\S*\\.bytes: ${UNKNOWN}`),
    reason: 'The vendor sends them, as in the part that is done, and its types of these events leave them out.',
  },
  {
    pattern: new RegExp(
      `ChatCompletion(Chunk)?\\.choices\\[\\d+\\]\\.(message|delta)\\.(reasoning_content|content_blocks)\\S*: ${UNKNOWN}`,
    ),
    reason: 'Thoughts and blocks of other vendors, of which chat completions know nothing; documented.',
  },
  {
    pattern: new RegExp(`ChatCompletionChunk\\.choices\\[\\d+\\]\\.delta\\.annotations: ${UNKNOWN}`),
    reason: 'Models of the vendor that search send them so; its types have them for whole messages only.',
  },
  {
    pattern:
      /openai 6: ChatCompletionChunk\.choices\[\d+\]\.delta\.tool_calls\[\d+\]\.(type: "custom"|custom: unknown)/,
    reason: 'The newer types have custom tools in chunks.',
  },
  {
    pattern: new RegExp(`openai 6: \\S*\\.(revised_prompt|size|quality|background|output_format): ${UNKNOWN}`),
    reason: 'Of images: the newer types have it.',
  },
  {
    pattern: new RegExp(`(results\\[\\d+\\]|VectorStoreSearchResult)\\.locator: ${UNKNOWN}`),
    reason: 'Where in its file a passage is, which is documented and only here.',
  },
  {
    pattern: new RegExp(`Assistant\\.reasoning_effort: ${UNKNOWN}`),
    reason: 'The vendor sent it, and only the types of requests name it.',
  },
  {
    pattern: /CompactedResponse\.output\[\d+\]: \{"id":"msg_\w+","type":"message","status":"completed","role/,
    reason: 'Messages of the user, as the vendor says it sends them; its types have those of the assistant alone.',
  },
  {
    pattern: /: response\.cancelled: \{"type":"response\.cancelled"/,
    reason: 'The vendor has no last event for a response that was cancelled. Documented.',
  },
];

export const exceptionFor = (found: string): Exception | undefined =>
  EXCEPTIONS.find(({ pattern }) => pattern.test(found));
