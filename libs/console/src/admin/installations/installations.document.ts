import { applyDecorators } from '@nestjs/common';
import { ApiParam, ApiQuery } from '@nestjs/swagger';
import { installationStates } from '#model-registry/installations';
import { ApiRoute, type DocumentedRoute } from '#platform/http';
import { adminErrors, adminRoute, PageQuery } from '../admin.document.js';
import { InstallModelRequest } from './install-model.request.js';
import { InstallableModelsResponse, InstallationListResponse, InstallationResponse } from './installations.response.js';

/* OpenAPI documents of the routes that install models. */

const errors = adminErrors;

const documents = {
  catalog: {
    ...adminRoute,
    operationId: 'getInstallableModels',
    summary: 'List the models that can be installed by their id',
    description: 'For operators: bundled and open models by kind, and the processes that install models.',
    responses: { 200: { json: InstallableModelsResponse } },
    errors,
  },
  create: {
    ...adminRoute,
    operationId: 'installModel',
    summary: 'Install a model',
    description:
      'For operators. A process that has the model store downloads, verifies and converts it, runs a prompt, registers and ' +
      'places it. 503 where no process does that, with the setting that turns it on.',
    body: InstallModelRequest,
    example: { reference: 'stories-15m' },
    responses: { 200: { json: InstallationResponse } },
    errors: [...errors, 415, 503],
  },
  list: {
    ...adminRoute,
    operationId: 'listModelInstallations',
    summary: 'List installations, newest first',
    description: 'For operators. Installations that have ended stay in the list for 90 days.',
    responses: { 200: { json: InstallationListResponse } },
    errors,
  },
  show: {
    ...adminRoute,
    operationId: 'getModelInstallation',
    summary: 'Show an installation',
    description: 'For operators: its state, what it does at the moment, and why it failed.',
    responses: { 200: { json: InstallationResponse } },
    errors: [...errors, 404],
  },
  cancel: {
    ...adminRoute,
    operationId: 'cancelModelInstallation',
    summary: 'Cancel an installation',
    description:
      'What was downloaded stays, so that it can be resumed. A model that is being registered is not cancelled.',
    responses: { 200: { json: InstallationResponse } },
    errors: [...errors, 404],
  },
  retry: {
    ...adminRoute,
    operationId: 'retryModelInstallation',
    summary: 'Try an installation again that failed or was cancelled',
    description: 'It resumes what is on the disk.',
    responses: { 200: { json: InstallationResponse } },
    errors: [...errors, 404, 503],
  },
} satisfies Record<string, DocumentedRoute>;

const InstallationId = (): MethodDecorator =>
  ApiParam({ name: 'id', type: String, example: '5f6c1c0e-2f7b-4b5e-9f0a-3d1d0c7a2b11' });

export const CatalogRoute = (): MethodDecorator => ApiRoute(documents.catalog);
export const InstallRoute = (): MethodDecorator => ApiRoute(documents.create);
export const InstallationRoute = (): MethodDecorator => applyDecorators(ApiRoute(documents.show), InstallationId());
export const CancelRoute = (): MethodDecorator => applyDecorators(ApiRoute(documents.cancel), InstallationId());
export const RetryRoute = (): MethodDecorator => applyDecorators(ApiRoute(documents.retry), InstallationId());

export const InstallationListRoute = (): MethodDecorator =>
  applyDecorators(
    ApiRoute(documents.list),
    PageQuery(),
    ApiQuery({
      name: 'state',
      required: false,
      schema: { type: 'string', enum: [...installationStates] },
      description: 'One state.',
    }),
  );
