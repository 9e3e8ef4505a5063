import type { DocumentedRoute } from '#platform/http';
import { CompletionRequest } from '../../contract/completions/completion.request.js';
import { CompletionResponse } from '../../contract/completions/completion.response.js';

const streamExample = [
  'data: {"id":"cmpl-8f3a1b2c4d5e6f70-SLC","object":"text_completion","created":1795000000,"model":"stories-15m","choices":[{"text":" there","index":0,"logprobs":null,"finish_reason":null}]}',
  'data: [DONE]',
  '',
].join('\n\n');

/** OpenAPI document of `POST /completions`. */
export const completionsDocument: DocumentedRoute = {
  tags: ['Completions'],
  operationId: 'createCompletion',
  summary: 'Continue a text',
  description:
    'Continues texts as they are, without a chat template; whole or as server-sent events ending with `[DONE]`.',
  body: CompletionRequest,
  examples: {
    plain: {
      summary: 'One completion',
      value: { model: 'default', prompt: 'Once upon a time', max_tokens: 32 },
    },
    stream: {
      summary: 'Two texts as a stream with usage',
      value: {
        model: 'default',
        prompt: ['Once upon a time', 'The small boat'],
        stream: true,
        stream_options: { include_usage: true },
        echo: true,
        max_tokens: 32,
      },
    },
  },
  responses: {
    200: {
      description: 'The completion; with `stream`, its chunks.',
      json: CompletionResponse,
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
  },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 402, 403, 404, 410, 413, 415, 429, 500, 503, 504],
};
