export { AudioController } from './audio.controller.js';
