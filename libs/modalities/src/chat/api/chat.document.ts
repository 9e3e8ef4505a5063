import type { DocumentedRoute } from '#platform/http';
import { ChatCompletionRequest } from '../contract/chat.request.js';
import { ChatCompletionResponse } from '../contract/chat.response.js';

const messages = [{ role: 'user', content: 'Tell me a story about a small boat.' }];

const streamExample = [
  'data: {"id":"chatcmpl-8f3a1b2c4d5e6f70-SLC","object":"chat.completion.chunk","created":1795000000,"model":"stories-15m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}',
  'data: [DONE]',
  '',
].join('\n\n');

/** OpenAPI document of `POST /chat/completions`. */
export const chatDocument: DocumentedRoute = {
  tags: ['Chat'],
  operationId: 'createChatCompletion',
  summary: 'Complete a conversation',
  description: 'The next message of a conversation, whole or as server-sent events ending with `[DONE]`.',
  body: ChatCompletionRequest,
  requestHeaders: {
    'X-Service-TEE-Client-Pub-Key':
      'Key of the client for an encrypted chat: uncompressed secp256k1, 130 hex characters. See docs/guides/e2ee.md.',
    'X-Service-TEE-Model-Pub-Key': 'Key of the model host that the messages are encrypted for, in the same form.',
    'X-Service-TEE-Signing-Algo': '`ecdsa`, the default.',
  },
  examples: {
    plain: { summary: 'One completion', value: { model: 'default', messages } },
    stream: {
      summary: 'A stream with usage',
      value: {
        model: 'default',
        messages: [{ role: 'system', content: 'You are brief.' }, ...messages],
        stream: true,
        stream_options: { include_usage: true },
        max_completion_tokens: 128,
        temperature: 0.7,
      },
    },
  },
  responses: {
    200: {
      description: 'The completion; with `stream`, its chunks.',
      json: ChatCompletionResponse,
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
  },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
};
