export { EditImageController } from './image.controller.js';
export { GenerateImageController } from './generate.controller.js';
