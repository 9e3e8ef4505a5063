export { ChatController } from './chat.controller.js';
