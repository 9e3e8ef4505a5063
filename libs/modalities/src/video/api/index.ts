export { VideoModule } from './video.module.js';
