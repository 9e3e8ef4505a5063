import type { DocumentedRoute } from '#platform/http';
import { EmbeddingRequest } from '../contract/embedding.request.js';
import { EmbeddingResponse } from '../contract/embedding.response.js';

const texts = ['A small boat on a river.', 'Ein kleines Boot auf einem Fluss.'];

/** OpenAPI document of `POST /embeddings`. */
export const embeddingDocument: DocumentedRoute = {
  tags: ['Embeddings'],
  operationId: 'createEmbedding',
  summary: 'Embed texts',
  description: 'A vector for each text: the closer two vectors, the closer the meanings.',
  body: EmbeddingRequest,
  examples: {
    one: { summary: 'One text', value: { model: 'default', input: texts[0] } },
    several: {
      summary: 'Several texts, short vectors, packed',
      value: { model: 'default', input: texts, dimensions: 32, encoding_format: 'base64' },
    },
  },
  responses: { 200: { description: 'The vectors, in the order of the input.', json: EmbeddingResponse } },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
};
