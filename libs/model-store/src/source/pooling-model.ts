import type { DecoderPurpose } from '../convert/decoder/decoder-purpose.js';
import { invalidFile } from '../convert/invalid-file.js';
import type { GgufMetadata } from '../convert/gguf/gguf-metadata.js';
import { HubConfig } from '../convert/safetensors/hub-config.js';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { findPoolingArchitecture } from '../convert/safetensors/pooling-architectures.js';
import { ggufPooling } from '../convert/sentence/gguf-pooling-model.js';
import { unknownPooling } from '../convert/sentence/pooling-options.js';
import type { SentencePooling } from '../convert/sentence/sentence-head.js';
import { readSentenceLayout, type SentenceLayout, type StoredDense } from '../convert/sentence/sentence-layout.js';
import { readSentencePrompts } from './encoder-weights.js';
import type { GraphKind } from './hub-files.js';
import { pullError } from './pull-error.js';

/** Statements of the operator about a model whose files lack them. */
export interface PoolingChoice {
  purpose?: DecoderPurpose;
  pooling?: SentencePooling;
  /** The file of the part that sees beside a GGUF file; `none`: the model is one of text. */
  projector?: string;
}

/** A model that writes no text: an embedding model, or a reranker. */
export type PoolingModelDescription = EmbedderDescription | RerankerDescription;

export interface EmbedderDescription {
  purpose: 'embedding';
  pooling: SentencePooling;
  normalize: boolean;
  /** Length of its vectors; null: the hidden size. */
  dimensions: number | null;
  /** Texts that its authors put in front of others, by kind of text. */
  prompts: Record<string, unknown>;
  /** Token that ends every text, where the tokenizer itself does not add it. */
  endToken: string | null;
}

export interface RerankerDescription {
  purpose: 'rerank';
  /** The prompt, with places for `{instruction}`, `{query}` and `{document}`. */
  template: string;
  instruction: string;
  /** Ids of the tokens that are compared; absent: `yes` and `no`, or the file has a layer for the score. */
  tokens?: { trueToken: number; falseToken: number };
}

/** The way an encoder makes its vectors. */
export interface EncoderSentence {
  /** The operator's choice; absent: as the files say. */
  pooling?: SentencePooling;
  /** Length of the vectors, if layers behind the pooling change it. */
  dimensions?: number;
}

/** The prompt of Qwen3-Reranker, which its files do not hold. */
const qwenPrompt = {
  template:
    '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. ' +
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}\n' +
    '<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n',
  instruction: 'Given a web search query, retrieve relevant passages that answer the query',
};

/**
 * Describes a decoder of a hub that writes no text; null for one that does. Its files say so, or its page, or the
 * operator. Fails with `INVALID_REQUEST` if nothing says how an embedding model pools.
 */
export async function describeHubPoolingModel(
  files: ModelFiles,
  { where, choice }: { where: string; choice: PoolingChoice },
): Promise<PoolingModelDescription | null> {
  // It overrides files that say otherwise, and those that cannot be read.
  if (choice.purpose === 'text' && chosenPurpose(choice, null, where) === 'text') return null;
  const config = await readJsonObject(files, 'config.json');
  const layout = await readSentenceLayout(files);
  const className = String([config['architectures']].flat()[0] ?? '');
  const stated = layout?.kind ?? purposeOfClass(className) ?? (await purposeOfPage(files, where));
  const purpose = chosenPurpose(choice, stated, where);
  if (purpose === 'text') return null;
  // A class that is not converted is refused by its name, before anything is asked.
  findPoolingArchitecture(new HubConfig(config));
  if (purpose === 'embedding') return describeEmbedder(files, { where, choice, layout });
  if (!className.startsWith('Qwen3')) {
    const reason = `${where} is a reranker made of ${className.slice(0, 80)}, whose prompt is not known here`;
    throw pullError(`${reason}; rerankers made of Qwen3 are added, and --purpose text adds it as a text model.`);
  }
  const tokens = layout?.kind === 'rerank' ? { trueToken: layout.trueToken, falseToken: layout.falseToken } : undefined;
  return { purpose, ...qwenPrompt, ...(tokens && { tokens }) };
}

function chosenPurpose(
  { purpose, pooling }: PoolingChoice,
  stated: DecoderPurpose | null,
  where: string,
): DecoderPurpose {
  const chosen = purpose ?? (pooling === undefined ? stated : 'embedding') ?? 'text';
  if (pooling === undefined || chosen === 'embedding') return chosen;
  throw pullError(`--pooling is for embedding models; ${where} is added with the purpose ${chosen}.`);
}

/** A class without an output layer, or with that of a score. */
function purposeOfClass(name: string): DecoderPurpose | null {
  if (name.endsWith('ForSequenceClassification')) return 'rerank';
  return name.endsWith('Model') ? 'embedding' : null;
}

async function describeEmbedder(
  files: ModelFiles,
  { where, choice, layout }: { where: string; choice: PoolingChoice; layout: SentenceLayout | null },
): Promise<EmbedderDescription> {
  const stored = layout?.kind === 'embedding' ? layout : null;
  const pooling = choice.pooling ?? stored?.pooling;
  if (pooling === undefined) throw unknownPooling(where);
  requireDense(files, stored?.dense ?? []);
  return {
    purpose: 'embedding',
    pooling,
    normalize: stored?.normalize ?? true,
    dimensions: stored?.dense.at(-1)?.outputs ?? null,
    prompts: await readSentencePrompts([...files.names], (path) => readJsonObject(files, path)),
    endToken: await readEndToken(files),
  };
}

const tokenizerConfigFile = 'tokenizer_config.json';

/** Other tokenizers say it by their post-processor, which is read when they run. */
async function readEndToken(files: ModelFiles): Promise<string | null> {
  if (!files.names.has(tokenizerConfigFile)) return null;
  const { add_eos_token: adds, eos_token: token } = await readJsonObject(files, tokenizerConfigFile);
  if (adds !== true) return null;
  const content: unknown =
    typeof token === 'object' && token !== null ? (token as { content?: unknown }).content : token;
  return typeof content === 'string' ? content : null;
}

const pageFile = 'README.md';
/** The header of a page is at its beginning. */
const pageBytes = 16_384;

const purposes: Readonly<Record<string, DecoderPurpose>> = {
  'text-ranking': 'rerank',
  'feature-extraction': 'embedding',
  'sentence-similarity': 'embedding',
};

/** Publishers name such models so. */
function purposeOfName(name: string): DecoderPurpose | null {
  if (/rerank/i.test(name)) return 'rerank';
  return /embedding/i.test(name) ? 'embedding' : null;
}

/** The kind of task in the name of the model, or in the header of its page. */
async function purposeOfPage(files: ModelFiles, where: string): Promise<DecoderPurpose | null> {
  const named = purposeOfName(where.split(/[\\/]/).at(-1) ?? '');
  if (named !== null) return named;
  if (!files.names.has(pageFile)) return null;
  const page = await files.open(pageFile);
  try {
    const text = Buffer.from(await page.read(0, Math.min(page.bytes, pageBytes))).toString('utf8');
    const task = taskOf(text.split('\n').map((line) => line.trim()));
    return Object.hasOwn(purposes, task) ? (purposes[task] ?? null) : null;
  } finally {
    await page.close?.();
  }
}

const taskKey = 'pipeline_tag:';

/** The header is enclosed by lines of three dashes. */
function taskOf(lines: readonly string[]): string {
  const end = lines.indexOf('---', 1);
  const header = lines[0] === '---' && end > 0 ? lines.slice(1, end) : [];
  return (
    header
      .find((line) => line.startsWith(taskKey))
      ?.slice(taskKey.length)
      .trim() ?? ''
  );
}

/** The same of a GGUF file. */
export function describeGgufPoolingModel(
  metadata: GgufMetadata,
  { choice, dimensions }: { choice: PoolingChoice; dimensions: number | null },
): PoolingModelDescription | null {
  const stored = ggufPooling(metadata);
  const architecture = metadata.text('general.architecture');
  const isEmbedder = architecture === 'gemma-embedding' || stored !== null;
  const stated = stored === 'rank' ? 'rerank' : isEmbedder ? 'embedding' : namedPurpose();
  const purpose = chosenPurpose(choice, stated, metadata.fileName);
  if (purpose === 'text') return null;
  if (purpose === 'rerank') return describeGgufReranker(metadata, architecture);
  const pooling = choice.pooling ?? (stored === 'rank' ? null : stored);
  if (pooling === null) throw unknownPooling(metadata.fileName);
  return { purpose, pooling, normalize: true, dimensions, prompts: {}, endToken: null };

  /** Many files of such models lack the key. */
  function namedPurpose(): DecoderPurpose | null {
    return purposeOfName(`${metadata.text('general.name', '')} ${metadata.fileName}`);
  }
}

const promptKey = 'tokenizer.chat_template.rerank';

function describeGgufReranker(metadata: GgufMetadata, architecture: string): RerankerDescription {
  const template = metadata.has(promptKey) ? metadata.text(promptKey) : null;
  if (template !== null && template.includes('{query}') && template.includes('{document}')) {
    const { instruction } = qwenPrompt;
    // Files have the default instruction in the prompt; its place lets requests replace it.
    if (!template.includes(instruction)) return { purpose: 'rerank', template, instruction: '' };
    return { purpose: 'rerank', template: template.replace(instruction, '{instruction}'), instruction };
  }
  if (architecture === 'qwen3') return { purpose: 'rerank', ...qwenPrompt };
  throw pullError(`${metadata.fileName} is a reranker, and neither it nor Sluice has its prompt.`);
}

interface SentenceRequest {
  where: string;
  choice: PoolingChoice;
  kind: GraphKind;
  /** True for weights that are converted; a graph has the layers behind its pooling. */
  converts?: boolean;
}

/**
 * Describes how the vectors of an encoder are made; undefined for another model. Fails with `INVALID_REQUEST` if nothing
 * says how it pools, and with `MODEL_PULL_FAILED` for a graph of a decoder that is none for text.
 */
export async function describeSentence(
  files: ModelFiles,
  { where, choice, kind, converts = false }: SentenceRequest,
): Promise<EncoderSentence | undefined> {
  if (kind === 'decoder') return refuseReaderGraph(files, { where, choice });
  if (choice.purpose !== undefined) throw pullError(`--purpose is for decoders; ${where} holds none.`);
  if (kind === 'cross-encoder') {
    if (choice.pooling !== undefined) throw pullError(`--pooling is for embedding models; ${where} is a reranker.`);
    return undefined;
  }
  const layout = await readSentenceLayout(files);
  const stored = layout?.kind === 'embedding' ? layout : null;
  if (stored === null && choice.pooling === undefined) throw unknownPooling(where);
  const dense = stored?.dense ?? [];
  if (converts && dense.length > 0 && choice.pooling !== undefined && choice.pooling !== stored?.pooling) {
    throw pullError(`--pooling does not fit ${where}: the layers behind its pooling are those of ${stored?.pooling}.`);
  }
  if (converts) requireDense(files, dense);
  const last = stored?.dense.at(-1);
  return { ...(choice.pooling && { pooling: choice.pooling }), ...(last && { dimensions: last.outputs }) };
}

/** Refuses a model whose last layers cannot be read, before its download. */
function requireDense(files: ModelFiles, dense: readonly StoredDense[]): void {
  const missing = dense.map(({ folder }) => `${folder}/model.safetensors`).find((name) => !files.names.has(name));
  if (missing !== undefined) throw invalidFile(missing, 'it is missing');
}

/** Its graph would have to read whole texts, and those of decoders take a cache. */
async function refuseReaderGraph(
  files: ModelFiles,
  { where, choice }: { where: string; choice: PoolingChoice },
): Promise<undefined> {
  const layout = await readSentenceLayout(files);
  const purpose = chosenPurpose(choice, layout?.kind ?? null, where);
  if (purpose === 'text') return undefined;
  const kind = purpose === 'rerank' ? 'a reranker' : 'an embedding model';
  throw pullError(`${where} is ${kind} as the ONNX graph of a decoder; add its safetensors or a GGUF file instead.`);
}
