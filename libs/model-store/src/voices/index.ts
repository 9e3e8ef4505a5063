export { boundary, loadPiperVoice, type PiperVoice, readPiperVoice, settingsEnding } from './piper-voice.js';
