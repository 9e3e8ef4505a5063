export { InputImageClassifier } from './input-image-classifier.js';
export { InputImageDescriber } from './input-image-describer.js';
export { ImageModule } from './image.module.js';
