export { groupQueryKernel } from './group-query-kernel.js';
export type { CacheScales, CacheType, FloatCacheType } from './cache-in-place.js';
export { type DeviceGraphOptions, graphForDevice } from './device-graph.js';
export { readGraphNodes } from './graph-nodes.js';
export { withLogitPlaces } from './logit-places.js';
export {
  attentionGraph,
  type AttentionSizes,
  fillGraph,
  halfFloatGraph,
  pickRowsGraph,
  joinRowsGraph,
} from './helper-graphs.js';
export { latentMaskGraph, latentRowsGraph, latentStepGraph, type LatentTerms } from './latent-graphs.js';
export { appendPositionsGraph, joinStatesGraph, pickStatesGraph, type PositionSizes } from './resident-graphs.js';
