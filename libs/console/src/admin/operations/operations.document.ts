import type { DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute } from '../admin.document.js';
import {
  AdminModelListResponse,
  QueueResponse,
  UnplacedModelResponse,
  WorkerListResponse,
  WorkerResponse,
} from './operations.response.js';
import { ModelStateRequest, PlaceModelRequest, UnplaceModelRequest } from './place.request.js';

/* OpenAPI documents of the routes for operators. */

const errors = adminErrors;
const done = { 204: { description: 'Done.' } };

export const operationsDocuments = {
  queue: {
    ...adminRoute,
    operationId: 'getAdminQueue',
    summary: 'Show the open jobs of each queue',
    description: 'For operators: one line per kind of request and model that has open jobs.',
    responses: { 200: { json: QueueResponse } },
    errors,
  },
  workers: {
    ...adminRoute,
    operationId: 'getAdminWorkers',
    summary: 'Show the workers and their models',
    description: 'For operators: every worker that was heard in the last seconds, and why a model is not loaded.',
    responses: { 200: { json: WorkerListResponse } },
    errors,
  },
  drain: {
    ...adminRoute,
    operationId: 'drainAdminWorker',
    summary: 'Let a worker take no more jobs',
    description: 'It finishes its own and stays idle until it is resumed or restarted. Returns when it has confirmed.',
    responses: { 200: { json: WorkerResponse } },
    errors: [...errors, 404, 503],
  },
  resume: {
    ...adminRoute,
    operationId: 'resumeAdminWorker',
    summary: 'Let a drained worker take jobs again',
    description: 'Returns when the worker has confirmed.',
    responses: { 200: { json: WorkerResponse } },
    errors: [...errors, 404, 503],
  },
  models: {
    ...adminRoute,
    operationId: 'getAdminModels',
    summary: 'Show the models, where they run, and why not',
    description: 'For operators: every model of the registry, internal ones included.',
    responses: { 200: { json: AdminModelListResponse } },
    errors: [...errors, 503],
  },
  place: {
    ...adminRoute,
    operationId: 'placeAdminModel',
    summary: 'Let the workers of a pool serve a model',
    description: 'Places the model in a pool, or changes its placement there. Workers follow within seconds.',
    body: PlaceModelRequest,
    example: { pool: 'local' },
    responses: done,
    errors: [...errors, 404, 415],
  },
  unplace: {
    ...adminRoute,
    operationId: 'unplaceAdminModel',
    summary: 'Remove a model from a pool, or from all',
    description: 'Its workers finish what they run and unload it.',
    body: UnplaceModelRequest,
    example: { pool: 'local' },
    responses: { 200: { json: UnplacedModelResponse } },
    errors: [...errors, 404, 415],
  },
  setState: {
    ...adminRoute,
    operationId: 'setAdminModelState',
    summary: 'Take a model offline for clients, or back online',
    description: 'Takes effect within 2 s on every replica.',
    body: ModelStateRequest,
    example: { enabled: false },
    responses: done,
    errors: [...errors, 404, 415],
  },
  remove: {
    ...adminRoute,
    operationId: 'removeAdminModel',
    summary: 'Remove a model from the registry',
    description: 'Its files stay on the disks of the workers. A bundled model is listed again at the next start.',
    responses: done,
    errors: [...errors, 404],
  },
} satisfies Record<string, DocumentedRoute>;
