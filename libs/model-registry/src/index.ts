export type { ModelPlacement, WorkerState } from './placement/placement.js';
export { PlacementPublisher } from './placement/placement-publisher.js';
export { PlacementRepository } from './placement/placement.repository.js';
export { PlacementService } from './placement/placement.service.js';
export { ModelRegistryService } from './registry/model-registry.service.js';
export { MembershipOnlineModels, noOnlineModels, OnlineModels } from './registry/online-models.js';
export type { ResolvedModel, ResolveRequest } from './registry/resolve-model.js';
