import type { DocumentedRoute } from '#platform/http';
import { MessagesCountRequest, MessagesRequest } from '../../contract/messages/messages.request.js';
import { MessagesResponse, MessagesTokenCount } from '../../contract/messages/messages.response.js';

const messages = [{ role: 'user', content: 'Tell me a story about a small boat.' }];

const streamExample = [
  'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" boat"}}',
  'event: message_stop\ndata: {"type":"message_stop"}',
  '',
].join('\n\n');

const common = {
  tags: ['Messages'],
  requestHeaders: {
    'anthropic-version': '`2023-06-01` or `2026-10-21`; other versions are refused. It may be absent.',
    'anthropic-beta':
      'Accepted without effect: what a beta adds are fields, and fields that are unknown here are refused.',
  },
  envelope: 'anthropic',
  security: 'any-key',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
} satisfies Partial<DocumentedRoute>;

/** OpenAPI document of `POST /messages`. */
export const messagesDocument: DocumentedRoute = {
  ...common,
  operationId: 'createMessage',
  summary: 'Create a message',
  description: 'The next message of a conversation in the format of the Messages API, whole or as server-sent events.',
  body: MessagesRequest,
  examples: {
    plain: { summary: 'One message', value: { model: 'default', max_tokens: 64, messages } },
    stream: {
      summary: 'A stream with a system prompt in blocks',
      value: {
        model: 'default',
        max_tokens: 64,
        system: [{ type: 'text', text: 'You are brief.', cache_control: { type: 'ephemeral' } }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Tell me a story.' }] }],
        stream: true,
        temperature: 0.7,
      },
    },
  },
  responses: {
    200: {
      description: 'The message; with `stream`, its events.',
      json: MessagesResponse,
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
  },
  compressed: true,
};

/** OpenAPI document of `POST /messages/count_tokens`. */
export const countTokensDocument: DocumentedRoute = {
  ...common,
  operationId: 'countMessageTokens',
  summary: 'Count the tokens of a message',
  description: 'The tokens that a request to `/messages` with this prompt would take as input. Nothing is charged.',
  body: MessagesCountRequest,
  examples: { plain: { summary: 'One text', value: { model: 'default', messages } } },
  responses: { 200: { description: 'The count.', json: MessagesTokenCount } },
};
