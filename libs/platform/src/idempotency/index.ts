export {
  fingerprintBody,
  RequestFingerprint,
  type ResponseEnding,
  type ResponseRecording,
} from './idempotent-request.js';
