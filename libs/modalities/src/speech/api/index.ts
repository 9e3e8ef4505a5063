export { SpeechModule } from './speech.module.js';
