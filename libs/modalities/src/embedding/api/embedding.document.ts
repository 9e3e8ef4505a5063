import { applyDecorators } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiExtraModels, ApiHeader, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrors, jsonContent } from '#platform/http';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { EmbeddingResponse } from '../contract/embedding.response.js';

const requestExamples = {
  one: { summary: 'One text', value: { model: 'default', input: 'A small boat on a river.' } },
  several: {
    summary: 'Several texts, short vectors, packed',
    value: {
      model: 'default',
      input: ['A small boat on a river.', 'Ein kleines Boot auf einem Fluss.'],
      dimensions: 128,
      encoding_format: 'base64',
    },
  },
};

/** What the document says of `POST /embeddings`. */
export function EmbeddingApiDocument(): MethodDecorator {
  return applyDecorators(
    ApiTags('Embeddings'),
    ApiBearerAuth('BearerAuth'),
    ApiExtraModels(EmbeddingRequest, EmbeddingResponse),
    ApiOperation({
      operationId: 'createEmbedding',
      summary: 'Embed texts',
      description: 'A vector for each text: the closer two vectors, the closer the meanings.',
    }),
    ApiHeader({ name: 'Accept-Encoding', required: false, description: '`gzip`, `br`.' }),
    ApiBody({ type: EmbeddingRequest, required: true, examples: requestExamples }),
    ApiResponse({
      status: 200,
      description: 'The vectors, in the order of the input.',
      headers: {
        'Content-Encoding': { description: 'How it is packed.', schema: { type: 'string', enum: ['gzip', 'br'] } },
      },
      content: jsonContent(EmbeddingResponse),
    }),
    ApiErrors('openai', [400, 401, 402, 404, 413, 415, 429, 500, 503, 504]),
  );
}
