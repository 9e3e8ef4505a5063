export * from './speech.processor.js';
