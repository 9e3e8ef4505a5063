export { RecordingTranscriber } from './recording-transcriber.js';
export { TranscriptionModule } from './transcription.module.js';
