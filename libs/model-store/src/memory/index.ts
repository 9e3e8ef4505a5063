export { keepOutputs } from './keep-outputs.js';
export { readDecoderSize } from './read-decoder-size.js';
