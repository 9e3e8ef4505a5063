export { TranscriptionModule } from './transcription.module.js';
