export { readDecoderSize } from './read-decoder-size.js';
