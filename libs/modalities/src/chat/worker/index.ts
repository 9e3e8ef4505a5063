export * from './chat.processor.js';
