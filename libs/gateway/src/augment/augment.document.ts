import type { DocumentedRoute } from '#platform/http';
import { AugmentScrapeRequest, AugmentSearchRequest, AugmentTextRequest } from './augment.request.js';
import { AugmentScrapeResponse, AugmentSearchResponse, AugmentTextResponse } from './augment.response.js';

const errors = [400, 401, 402, 403, 413, 415, 429, 500, 503, 504];

export const searchDocument: DocumentedRoute = {
  tags: ['Augment'],
  operationId: 'webSearch',
  summary: 'Search the web',
  description: 'Results of the provider that the operator configured. Charged per request.',
  body: AugmentSearchRequest,
  example: { query: 'sluice gates', limit: 5 },
  responses: { 200: { description: 'The results.', json: AugmentSearchResponse } },
  errors: [...errors, 422],
};

export const scrapeDocument: DocumentedRoute = {
  tags: ['Augment'],
  operationId: 'webScrape',
  summary: 'Read a page as Markdown',
  description: 'The main content of a public page or text. Scripts do not run. Charged per page that could be read.',
  body: AugmentScrapeRequest,
  example: { url: 'https://example.com/article' },
  responses: { 200: { description: 'The page.', json: AugmentScrapeResponse } },
  errors,
};

export const textDocument: DocumentedRoute = {
  tags: ['Augment'],
  operationId: 'createTextParser',
  summary: 'Read the text of a file',
  description: 'Nothing of the file is stored. Charged per file that could be read.',
  body: AugmentTextRequest,
  examples: { json: { summary: 'Text and tokens', value: { file: '(the file)', response_format: 'json' } } },
  produces: ['application/json', 'text/plain'],
  responses: {
    200: {
      description: 'The text.',
      json: AugmentTextResponse,
      content: { 'text/plain': { schema: { type: 'string' }, example: 'The text of the file.' } },
    },
  },
  errors,
};
