export { ImageProcessor } from './image.processor.js';
