import type { DocumentedRoute } from '#platform/http';
import { ResponsesRequest } from '../../contract/responses/responses.request.js';
import { ResponsesInputTokens, ResponsesResponse } from '../../contract/responses/responses.response.js';

const streamExample = [
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_8f3a1b2c4d5e6f70-SLC_0","output_index":0,"content_index":0,"delta":" boat","logprobs":[]}',
  'data: [DONE]',
  '',
].join('\n\n');

/** OpenAPI document of `POST /responses`. */
export const responsesDocument: DocumentedRoute = {
  tags: ['Responses (Alpha)'],
  operationId: 'createResponse',
  summary: 'Create a response',
  description:
    'The next items of a conversation, whole or as server-sent events. The history is sent with each request.',
  body: ResponsesRequest,
  examples: {
    plain: { summary: 'One response', value: { model: 'default', input: 'Tell me a story about a small boat.' } },
    items: {
      summary: 'A stream with instructions and items',
      value: {
        model: 'default',
        instructions: 'You are brief.',
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Tell me a story.' }] }],
        stream: true,
        max_output_tokens: 128,
      },
    },
  },
  responses: {
    200: {
      description: 'The response; with `stream`, its events.',
      json: ResponsesResponse,
      content: { 'text/event-stream': { schema: { type: 'string' }, example: streamExample } },
    },
  },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
};

/** OpenAPI document of `POST /responses/input_tokens`. */
export const inputTokensDocument: DocumentedRoute = {
  tags: ['Responses (Alpha)'],
  operationId: 'countResponseInputTokens',
  summary: 'Count the input tokens of a response',
  description: 'The tokens that a request to `/responses` with this body would take as input. Nothing is charged.',
  body: ResponsesRequest,
  examples: {
    plain: { summary: 'One text', value: { model: 'default', input: 'Tell me a story about a small boat.' } },
  },
  responses: { 200: { description: 'The count.', json: ResponsesInputTokens } },
  envelope: 'openai',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
};
