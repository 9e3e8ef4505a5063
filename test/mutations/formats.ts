/** How a platform process reads files of a format. */
export const readerKinds = [
  ...(['image', 'audio', 'video', 'document', 'archive', 'manifest', 'body'] as const),
  // Converted only, and added as `sluice models add` does.
  ...(['model', 'added'] as const),
];
export type ReaderKind = (typeof readerKinds)[number];

export interface FormatEntry {
  reader: ReaderKind;
  /** Arguments of ffmpeg that make a valid file; null: the corpus makes it. */
  maker: readonly string[] | null;
}

const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=16000:duration=0.5'];
const pattern = ['-f', 'lavfi', '-i', 'testsrc=size=64x48:rate=10:duration=0.5'];
const still = ['-f', 'lavfi', '-i', 'testsrc=size=48x32:rate=1:duration=1', '-frames:v', '1'];

function image(...args: string[]): FormatEntry {
  return { reader: 'image', maker: [...still, ...args] };
}
function audio(...args: string[]): FormatEntry {
  return { reader: 'audio', maker: [...tone, ...args] };
}
function video(...args: string[]): FormatEntry {
  return { reader: 'video', maker: [...pattern, ...tone, '-shortest', ...args] };
}
const document: FormatEntry = { reader: 'document', maker: null };
const model: FormatEntry = { reader: 'model', maker: null };
const added: FormatEntry = { reader: 'added', maker: null };
const archive: FormatEntry = { reader: 'archive', maker: null };

const table = {
  png: image('-c:v', 'png', '-f', 'image2'),
  jpeg: image('-c:v', 'mjpeg', '-f', 'image2'),
  webp: image('-c:v', 'libwebp', '-f', 'webp'),
  gif: image('-f', 'gif'),
  wav: audio('-f', 'wav'),
  'wav-alaw': audio('-c:a', 'pcm_alaw', '-f', 'wav'),
  mp3: audio('-c:a', 'libmp3lame', '-f', 'mp3'),
  flac: audio('-f', 'flac'),
  vorbis: audio('-c:a', 'libvorbis', '-f', 'ogg'),
  opus: audio('-c:a', 'libopus', '-f', 'ogg'),
  aac: audio('-c:a', 'aac', '-f', 'adts'),
  m4a: audio('-c:a', 'aac', '-f', 'ipod'),
  aiff: audio('-f', 'aiff'),
  mp4: video('-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-f', 'mp4'),
  webm: video('-c:v', 'libvpx', '-c:a', 'libopus', '-f', 'webm'),
  mpeg: video('-c:v', 'mpeg2video', '-r', '25', '-c:a', 'mp2', '-f', 'mpeg'),
  mpegts: video('-c:v', 'mpeg2video', '-r', '25', '-c:a', 'mp2', '-f', 'mpegts'),
  pdf: document,
  docx: document,
  pptx: document,
  xlsx: document,
  xls: document,
  epub: document,
  csv: document,
  gguf: added,
  safetensors: model,
  onnx: model,
  'hub-weights': added,
  'hub-config': added,
  'hub-index': added,
  'hub-tokenizer': added,
  'hub-tokenizer-config': added,
  'hub-template': added,
  'lora-weights': added,
  'lora-settings': added,
  tar: archive,
  tgz: archive,
  yaml: { reader: 'manifest', maker: null },
  json: { reader: 'body', maker: null },
} satisfies Record<string, FormatEntry>;

export type Format = keyof typeof table;
export const formats: Readonly<Record<Format, FormatEntry>> = table;
export const formatNames = Object.keys(table) as Format[];

/** Where the corpus keeps the source of a decoder in one file and in shards, and the home with the base of adapters. */
export const corpusFolders = { decoder: 'decoder', shards: 'shards', home: 'home' } as const;
/** Id of the base. */
export const loraBase = 'base';
