export { ChatImageReader } from './chat-image.reader.js';
export * from './chat.processor.js';
