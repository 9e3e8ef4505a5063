export { keepOutputs } from './keep-outputs.js';
export { readDecoderSize } from './read-decoder-size.js';
export { readFamilySize } from './read-family-size.js';
