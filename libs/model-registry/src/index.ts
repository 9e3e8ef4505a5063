export * from './api/model.response.js';
export { ModelsController } from './api/models.controller.js';
export { parseModelName } from './registry/model-name.js';
export * from './registry/deprecation.js';
export * from './registry/model-registry.service.js';
export * from './registry/online-models.js';
export type { ResolvedModel, ResolveRequest } from './registry/resolve-model.js';
