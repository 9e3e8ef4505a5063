export { windowCacheLimits, windowCachePositions } from './window-cache.js';
export {
  addedBlockBytes,
  cacheBytes,
  type CacheSize,
  type DecoderMemory,
  decoderMemory,
  type DecoderSize,
  type DecoderUse,
  peakBytes,
  runtimeBytes,
} from './decoder-memory.js';
export {
  familyHostMemory,
  type FamilyMemory,
  familyMemory,
  familyPeakBytes,
  type FamilySize,
  type HostMemory,
} from './family-memory.js';
export { type VisionSize, visionWork } from './vision-memory.js';
export { keptStates } from './kept-states.js';
export { maxRunFrames, maxRunPixels, runBytes, type RunMemory, type RunShape } from './run-memory.js';
