export { VideoController } from './video.controller.js';
export { VideoService } from './video.service.js';
