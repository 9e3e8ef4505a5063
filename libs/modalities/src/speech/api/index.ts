export { SpeechController } from './speech.controller.js';
export { VoicesController } from './voices.controller.js';
export { VoicesService } from './voices.service.js';
