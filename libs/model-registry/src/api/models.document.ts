import type { DocumentedRoute } from '#platform/http';
import { ModelListResponse, ModelNamesResponse, ModelResponse } from './model.response.js';

const common = {
  tags: ['Models'],
  security: 'inherited',
  envelope: 'openai',
  errors: [400, 401, 429, 500, 503],
} satisfies Partial<DocumentedRoute>;

export const modelsDocuments = {
  list: {
    ...common,
    operationId: 'listModels',
    summary: 'List models',
    description: 'Models of one type or of all, newest first, with their limits, capabilities and prices.',
    responses: { 200: { json: ModelListResponse } },
  },
  traits: {
    ...common,
    operationId: 'listModelTraits',
    summary: 'List traits',
    description: 'Names such as `default` and the models that they currently resolve to.',
    responses: { 200: { json: ModelNamesResponse } },
  },
  compatibilityMapping: {
    ...common,
    operationId: 'listModelCompatibilityMapping',
    summary: 'List aliases',
    description: 'Other names of models, such as `whisper-1` or `gpt-4o-mini`, and the models that they resolve to.',
    responses: { 200: { json: ModelNamesResponse } },
  },
  retrieve: {
    ...common,
    operationId: 'retrieveModel',
    summary: 'Get one model',
    description: 'The entry of one model, by its id, alias or trait. An alias may contain slashes, encoded or not.',
    responses: { 200: { json: ModelResponse } },
    errors: [...common.errors, 404, 410],
  },
} satisfies Record<string, DocumentedRoute>;
