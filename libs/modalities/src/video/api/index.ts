export { VideoController } from './video.controller.js';
