export { ImageModule } from './image.module.js';
