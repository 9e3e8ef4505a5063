import type { DocumentedRoute } from '#platform/http';
import { RerankRequest } from '../contract/rerank.request.js';
import { RerankResponse } from '../contract/rerank.response.js';

const query = 'Which boats cross the river?';
const documents = ['The ferry takes ten minutes.', 'Bread is baked at night.', 'A rowing boat waits at the pier.'];

/** OpenAPI document of `POST /rerank`. */
export const rerankDocument: DocumentedRoute = {
  tags: ['Rerank'],
  operationId: 'createRerank',
  summary: 'Order documents by their relevance to a query',
  description:
    'A cross-encoder reads the query together with each document and scores how relevant it is. Use it on the best ' +
    'results of a search by embeddings.',
  body: RerankRequest,
  examples: {
    order: { summary: 'Every document with its score', value: { model: 'default', query, documents } },
    best: {
      summary: 'The best two with their texts',
      value: { model: 'default', query, documents, top_n: 2, return_documents: true },
    },
  },
  responses: { 200: { description: 'The documents, most relevant first.', json: RerankResponse } },
  compressed: true,
  envelope: 'openai',
  errors: [400, 401, 402, 404, 413, 415, 429, 500, 503, 504],
};
