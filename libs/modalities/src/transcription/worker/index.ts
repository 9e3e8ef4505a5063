export * from './transcription.processor.js';
