export {
  type EmbeddingInput,
  type EmbeddingOutput,
  type EmbeddingPart,
  embeddingTask,
} from '../embedding/embedding-task.js';
export { type RerankInput, type RerankOutput, type RerankPart, rerankTask } from '../reranking/rerank-task.js';
export {
  recognitionBlockSeconds,
  type RecognitionInput,
  type RecognitionMemory,
  type RecognitionOutput,
  recognitionSampleRate,
  recognitionTask,
  type RecognizedSegment,
} from '../recognition/speech-recognition.js';
export { type ComposeInput, type ComposeOutput, composeTask } from '../engines/music.js';
export { type SpeakInput, type SpeakOutput, speakTask, type VoiceSample } from '../engines/speech.js';
export { type Sentence, splitSentences } from '../speech/sentence-splitter.js';
export type { AnimateInput, AnimateOutput, FrameLatents } from '../images/video-tasks.js';
export type {
  ClassifyOutput,
  GenerateInput,
  GenerateOutput,
  ImageOutput,
  InpaintInput,
  InterpolateInput,
  MatteInput,
  MatteOutput,
  UpscaleInput,
} from '../images/image-tasks.js';
export type {
  DetectedObject,
  DetectObjectsInput,
  DetectObjectsOutput,
  ReadTextInput,
  ReadTextOutput,
} from '../images/reading-tasks.js';
export type { RgbPixels } from '../images/pixel-grid.js';
