export { EditImageController } from './image.controller.js';
export { GenerateImageController } from './generate.controller.js';
export { ImageEditor } from './image-editor.js';
export { ImageGenerator } from './image-generator.js';
export { ImageService } from './image.service.js';
