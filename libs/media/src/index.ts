export { audioContentTypes, type AudioFormat, needsFfmpeg } from './audio/audio-format.js';
export { decodeAudio, decodeWholeAudio, measureAudio, probeAudio } from './audio/decode-audio.js';
export { encodeAudio, encodeWholeAudio } from './audio/encode-audio.js';
export { audioHeadBytes, saysItsLength, withAudioLength } from './audio/audio-header.js';
export { wavFromPcm } from './audio/wav-header.js';
export { decodeBase64, decodeInline, isDataUrl } from './encoded/base64.js';
export { decodeImage } from './image/decode-image.js';
export { blurPixels, resizePixels } from './image/edit-pixels.js';
export { ImageDecoder } from './image/decoder/image-decoder.js';
export { encodeImage } from './image/encode-image.js';
export {
  type FrameSize,
  nearestRatio,
  readRatio,
  sizeOfLongSide,
  sizeOfPixels,
  sizeOfShortSide,
} from './image/frame-size.js';
export { readImageHeader } from './image/image-header.js';
export type { ImageHeader, ImageLimits } from './image/image-limits.js';
export { imageContentTypes, type Pixels } from './image/pixels.js';
export { containerNamed, type MediaContainer } from './tools/containers.js';
export { identifyMedia, type MediaSource } from './tools/media-source.js';
export { MediaTools } from './tools/media-tools.js';
export { probeVideo, readFrames, type VideoProbe } from './video/read-frames.js';
export { sampleFrames } from './video/sample-frames.js';
export { writeVideo } from './video/write-video.js';
