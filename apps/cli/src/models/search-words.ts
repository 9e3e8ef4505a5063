/** The texts of a model that a search looks at. */
export interface SearchedModel {
  id: string;
  name: string;
  /** Its kind: a purpose of the catalog, or the type of a bundled model. */
  purpose: string;
  about: string;
  license: string;
}

/** Words by which people look for a kind of models, beside those of its descriptions. */
const wordsOfKind: Readonly<Record<string, string>> = {
  chat: 'text llm instruct',
  reasoning: 'text llm thinking',
  code: 'text llm coding programming',
  embedding: 'embeddings vectors rag retrieval',
  rerank: 'reranker reranking rag retrieval',
  tts: 'speech voice audio text-to-speech',
  asr: 'speech audio stt speech-to-text transcription',
  vision: 'text llm instruct vlm vl multimodal images',
  image: 'photo text-to-image',
  inpaint: 'image photo background edit',
  upscale: 'image photo super-resolution upscaling',
  video: 'movie animation',
  music: 'audio song text-to-music',
};

/** True if every word occurs in what is shown of the model, or names its kind. */
export function matchesWords(model: SearchedModel, words: readonly string[]): boolean {
  const { id, name, purpose, about, license } = model;
  const text = [id, name, purpose, wordsOfKind[purpose] ?? '', about, license].join(' ').toLowerCase();
  return words.every((word) => text.includes(word.toLowerCase()));
}

/** Kinds of which more can be added than the list has, and where that is described. */
const pagesOfKinds = [
  {
    words: ['vision', 'vlm', 'vl', 'multimodal'],
    text: 'Models that read images in chats are added from safetensors or ONNX exports: docs/guides/vision.md.',
  },
  {
    words: ['music', 'musicgen'],
    text: 'MusicGen models are added from their ONNX exports: docs/operate/models.md#models-of-several-graphs.',
  },
  {
    words: ['whisper', 'parakeet', 'transcription', 'speech', 'asr'],
    text: 'Larger Whisper models and Parakeet TDT are added from their weights or ONNX exports: docs/operate/models.md#models-of-several-graphs.',
  },
  {
    words: ['diffusion', 'sdxl', 'text-to-image'],
    text: 'Stable Diffusion models are added from their ONNX exports: docs/operate/models.md#models-of-several-graphs.',
  },
];

/** Returns advice on kinds that the list has no model of, or only small ones; empty for other words. */
export function hintsFor(words: readonly string[]): string[] {
  const wanted = words.map((word) => word.toLowerCase());
  return pagesOfKinds.filter(({ words: known }) => known.some((word) => wanted.includes(word))).map(({ text }) => text);
}

/** Returns advice for a search that no model matches. */
export function noMatch(words: readonly string[], kinds: readonly string[]): string[] {
  return [
    `No model matches. \`sluice models search\` without words lists all of them; kinds are ${kinds.join(', ')}.`,
    ...hintsFor(words),
    'A model that is not listed is added by its source: sluice models add hf:<owner>/<repository>, or a path.',
  ];
}
