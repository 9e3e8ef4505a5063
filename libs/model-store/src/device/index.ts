export { groupQueryKernel } from './cache-in-place.js';
export { type DeviceGraphOptions, graphForDevice } from './device-graph.js';
export { withLogitPlaces } from './logit-places.js';
export { halfFloatGraph, pickRowsGraph, joinRowsGraph } from './helper-graphs.js';
