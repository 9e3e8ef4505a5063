export { ImageDescriber, type ImageDescription, type ImagesInput, maxDescriptionLength } from './image-describer.js';
export type { InputWork } from './input-work.js';
export { InputTranscriber, type InputTranscription, type RecordingInput } from './input-transcriber.js';
export { type EmbeddedText, type FreeTexts, TextEmbedder } from './text-embedder.js';
