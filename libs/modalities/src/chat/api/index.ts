export { ChatController } from './chat.controller.js';
export * from './chat.services.js';
