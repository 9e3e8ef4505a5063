export { VideoProcessor } from './video.processor.js';
