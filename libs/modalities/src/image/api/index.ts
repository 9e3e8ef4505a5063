export { EditImageController } from './edit.controller.js';
export { GenerateImageController } from './generate.controller.js';
