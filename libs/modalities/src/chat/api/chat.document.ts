import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiExtraModels, ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrors, jsonContent } from '#platform/http';
import { ChatCompletionRequest } from '../contract/chat.request.js';
import { ChatCompletionResponse } from '../contract/chat.response.js';

const requestExamples = {
  plain: {
    summary: 'One answer',
    value: { model: 'default', messages: [{ role: 'user', content: 'Tell me a story about a small boat.' }] },
  },
  stream: {
    summary: 'A stream with usage',
    value: {
      model: 'default',
      messages: [
        { role: 'system', content: 'You are brief.' },
        { role: 'user', content: 'Tell me a story about a small boat.' },
      ],
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 128,
      temperature: 0.7,
    },
  },
};

const streamExample = [
  'data: {"id":"chatcmpl-8f3a1b2c4d5e6f70-SLC","object":"chat.completion.chunk","created":1795000000,"model":"stories-15m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}',
  'data: [DONE]',
  '',
].join('\n\n');

/** What the document says of `POST /chat/completions`. */
export function ChatApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Chat'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(ChatCompletionRequest, ChatCompletionResponse),
    ApiOperation({
      operationId: 'createChatCompletion',
      summary: 'Answer a conversation',
      description: 'The next message of a conversation, whole or as server-sent events ending with `[DONE]`.',
    }),
    ApiHeader({
      name: 'Accept-Encoding',
      required: false,
      description: '`gzip`, `br`; for answers that do not stream.',
    }),
    ApiBody({ type: ChatCompletionRequest, required: true, examples: requestExamples }),
    ApiResponse({
      status: 200,
      description: 'The answer; with `stream`, its chunks.',
      headers: {
        'Content-Encoding': { description: 'How it is packed.', schema: { type: 'string', enum: ['gzip', 'br'] } },
      },
      content: {
        ...jsonContent(ChatCompletionResponse),
        'text/event-stream': { schema: { type: 'string' }, example: streamExample },
      },
    }),
    ApiErrors('openai', [400, 401, 402, 404, 413, 415, 429, 500, 503, 504]),
  );
}
