export * from './placement/placement.js';
export * from './placement/placement-publisher.js';
export { PlacementRepository } from './placement/placement.repository.js';
export * from './placement/placement.service.js';
export { parseModelName } from './registry/model-name.js';
export * from './registry/deprecation.js';
export * from './registry/model-registry.service.js';
export * from './registry/online-models.js';
export type { ResolvedModel, ResolveRequest } from './registry/resolve-model.js';
