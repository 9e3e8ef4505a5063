export { groupQueryKernel } from './group-query-kernel.js';
export type { CacheScales, CacheType, FloatCacheType } from './cache-in-place.js';
export { type DeviceGraphOptions, graphForDevice } from './device-graph.js';
export { withLogitPlaces } from './logit-places.js';
export { attentionGraph, type AttentionSizes, halfFloatGraph, pickRowsGraph, joinRowsGraph } from './helper-graphs.js';
