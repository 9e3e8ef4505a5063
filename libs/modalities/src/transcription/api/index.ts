export { TranscriptionController } from './transcription.controller.js';
