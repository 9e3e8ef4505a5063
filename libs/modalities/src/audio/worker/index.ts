export { AudioProcessor } from './audio.processor.js';
